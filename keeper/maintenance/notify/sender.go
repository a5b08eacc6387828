// Package notify sends the notifications of maintenance profiles: mails, messages to Slack, requests to webhooks.
//
// It decides nothing: package profile says which notification is due, with which text. No error repeats a token, a
// password or the URL of a webhook, which is a secret of its own.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
)

// timeout bounds the sending of one notification: a mail server that hangs must not hold up the nodes.
const timeout = 20 * time.Second

// maxAnswer is the number of bytes read of an answer.
const maxAnswer = 64 << 10

// Sender sends notifications.
type Sender struct {
	// HTTP is the client for Slack and webhooks; nil means a client without redirects, through the proxy of the
	// environment.
	HTTP *http.Client
	// Kube has the Leases of threads in Slack.
	Kube *kube.Client
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Send sends one notification and waits until it was accepted.
func (s *Sender) Send(ctx context.Context, n *profile.Notifier, m profile.Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not sent within %s", timeout))
	defer cancel()
	var err error
	switch to := n.To.(type) {
	case *profile.Mail:
		err = s.mail(ctx, to, m)
	case *profile.Slack:
		err = s.slack(ctx, to, m)
	case *profile.SlackThread:
		err = s.thread(ctx, to, m)
	case *profile.Webhook:
		err = s.webhook(ctx, to, m)
	default:
		err = fmt.Errorf("type %s cannot be sent", n.Type)
	}
	if err != nil {
		return fmt.Errorf("notification %s (%s): %w", n.Name, n.Type, err)
	}
	return nil
}

func (s *Sender) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Sender) client() *http.Client {
	if s.HTTP != nil {
		return s.HTTP
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{CheckRedirect: stay}
}

// post sends JSON and returns the body of a successful answer.
func (s *Sender) post(ctx context.Context, to string, headers map[string]string, body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("the URL is wrong")
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "deployer")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := s.client().Do(req)
	if err != nil {
		return nil, withoutURL(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, withoutURL(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	return answer, nil
}

// withoutURL returns the cause of an error of net/http, which repeats the URL.
func withoutURL(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
