package profile

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"time"
)

// Notifier is a notification instance of the file.
type Notifier struct {
	Name     string
	Type     string
	Schedule Schedule
	// To says where the notification goes: a *[Mail], *[Slack], *[SlackThread] or *[Webhook].
	To any
}

// Mail sends an e-mail.
type Mail struct {
	Address  string   `yaml:"address" required:"true" doc:"Address of the SMTP server with its port."`
	From     string   `yaml:"from" required:"true" doc:"Address of the sender."`
	To       []string `yaml:"to" required:"true" doc:"Addresses of the recipients."`
	Subject  string   `yaml:"subject" required:"true" doc:"Subject of the mail."`
	Message  Template `yaml:"message" required:"true" doc:"Text of the mail, a template."`
	Auth     bool     `yaml:"auth" doc:"Authenticate with user and password. Default false."`
	Identity string   `yaml:"identity" doc:"Identity of the authentication. Default: the user."`
	User     string   `yaml:"user" doc:"User of the SMTP server."`
	Password string   `yaml:"password" doc:"Password of the user."`
}

// validate implements validator.
func (m *Mail) validate() error {
	if _, _, err := net.SplitHostPort(m.Address); err != nil {
		return fmt.Errorf("address %q: want HOST:PORT", m.Address)
	}
	if len(m.To) == 0 {
		return errors.New("to is empty: nobody gets the mail")
	}
	for _, address := range append([]string{m.From}, m.To...) {
		if _, err := mail.ParseAddress(address); err != nil {
			return fmt.Errorf("%q is no mail address", address)
		}
	}
	if strings.ContainsAny(m.Subject, "\r\n") {
		return errors.New("subject must be one line")
	}
	if m.Auth && m.User == "" {
		return errors.New("auth needs user and password")
	}
	return nil
}

// Slack posts to an incoming webhook of Slack.
type Slack struct {
	Hook    string   `yaml:"hook" required:"true" doc:"URL of the webhook."`
	Channel string   `yaml:"channel" required:"true" doc:"Channel of the message."`
	Message Template `yaml:"message" required:"true" doc:"Text, a template."`
}

// validate implements validator.
func (s *Slack) validate() error { return isURL("hook", s.Hook) }

// SlackThread posts to a channel of Slack, and collects the messages of a period in a thread.
type SlackThread struct {
	Token          string   `yaml:"token" required:"true" doc:"Token for the Slack API."`
	Channel        string   `yaml:"channel" required:"true" doc:"Channel of the thread."`
	Title          Template `yaml:"title" required:"true" doc:"Text of the message that begins a thread, a template."`
	Message        Template `yaml:"message" required:"true" doc:"Text of the replies, a template."`
	LeaseName      string   `yaml:"leaseName" required:"true" doc:"Name of the Lease that has the thread."`
	LeaseNamespace string   `yaml:"leaseNamespace" required:"true" doc:"Namespace of the Lease."`
	Period         Duration `yaml:"period" required:"true" doc:"Time after which a new thread begins."`
}

// validate implements validator.
func (s *SlackThread) validate() error {
	if time.Duration(s.Period) < time.Second {
		return errors.New("period must be at least 1s: Leases count whole seconds")
	}
	return nil
}

// Lease returns the key of the Lease.
func (s *SlackThread) Lease() LeaseKey { return LeaseKey{s.LeaseNamespace, s.LeaseName} }

// Webhook posts JSON to a URL.
type Webhook struct {
	URL     string            `yaml:"url" required:"true" doc:"http or https URL."`
	Headers map[string]string `yaml:"headers" doc:"Headers of the request. Default none."`
	Message Template          `yaml:"message" required:"true" doc:"Text, a template. The request has it as message, with node, profile and state."`
}

// validate implements validator.
func (w *Webhook) validate() error { return isURL("url", w.URL) }

// isURL does not repeat the URL, which may have a secret.
func isURL(key, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New(key + " is no http or https URL")
	}
	return nil
}

// newNotifier returns a notifier of a type; nil for an unknown type.
func newNotifier(kind string) any {
	switch kind {
	case "mail":
		return &Mail{}
	case "slack":
		return &Slack{}
	case "slackThread":
		return &SlackThread{}
	case "webhook":
		return &Webhook{}
	}
	return nil
}

var notifierTypes = []string{"mail", "slack", "slackThread", "webhook"}

// newSchedule returns a schedule of a type with its defaults; nil for an unknown type.
func newSchedule(kind string) Schedule {
	switch strings.ToLower(kind) {
	case "oneshot":
		return &oneshot{Delay: Duration(time.Minute)}
	case "periodic":
		return &periodic{Interval: Duration(time.Hour)}
	case "scheduled":
		return &scheduled{}
	}
	return nil
}

var scheduleTypes = []string{"oneshot", "periodic", "scheduled"}
