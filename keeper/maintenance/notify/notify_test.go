package notify

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

var saturday = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func message() profile.Message {
	return profile.Message{Node: &corev1.Node{ObjectMeta: v1.ObjectMeta{Name: "n1"}}, State: profile.InMaintenance, Profile: profile.Names{Current: "p"}}
}

func template(t *testing.T, text string) profile.Template {
	t.Helper()
	var out profile.Template
	if err := out.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return out
}

// smtpServer is a mail server that accepts one mail at a time.
type smtpServer struct {
	address  string
	commands []string
	content  string
	refuse   string // prefix of a command
	done     chan bool
}

func startSMTP(t *testing.T, refuse string) *smtpServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &smtpServer{address: l.Addr().String(), refuse: refuse, done: make(chan bool)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		defer close(s.done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		s.serve(conn)
	}()
	return s
}

func (s *smtpServer) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	fmt.Fprintf(conn, "220 mail.example.com\r\n")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		s.commands = append(s.commands, line)
		switch {
		case s.refuse != "" && strings.HasPrefix(line, s.refuse):
			fmt.Fprintf(conn, "550 no\r\n")
		case strings.HasPrefix(line, "EHLO"):
			fmt.Fprintf(conn, "250-mail.example.com\r\n250 AUTH PLAIN\r\n")
		case strings.HasPrefix(line, "AUTH"):
			fmt.Fprintf(conn, "235 ok\r\n")
		case line == "DATA":
			fmt.Fprintf(conn, "354 go on\r\n")
			var b strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil || line == ".\r\n" {
					break
				}
				b.WriteString(line)
			}
			s.content = b.String()
			fmt.Fprintf(conn, "250 ok\r\n")
		case line == "QUIT":
			fmt.Fprintf(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprintf(conn, "250 ok\r\n")
		}
	}
}

func TestMail(t *testing.T) {
	server := startSMTP(t, "")
	text := "{{ .Node.Name }} geht.\n.\nÄ " + strings.Repeat("x", 2000)
	n := &profile.Notifier{Name: "m", Type: "mail", To: &profile.Mail{
		Address: server.address, From: "Keeper <keeper@example.com>", To: []string{"a@example.com", "b@example.com"}, Subject: "Wartung läuft",
		Message: template(t, text), Auth: true, User: "u", Password: "geheim",
	}}
	s := &Sender{Now: func() time.Time { return saturday }}
	if err := s.Send(t.Context(), n, message()); err != nil {
		t.Fatal(err)
	}
	<-server.done
	for _, want := range []string{"AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00u\x00geheim")), "MAIL FROM:<keeper@example.com>", "RCPT TO:<a@example.com>", "RCPT TO:<b@example.com>"} {
		if !strings.Contains(strings.Join(server.commands, "\n"), want) {
			t.Errorf("no %s in %q", want, server.commands)
		}
	}
	got, err := mail.ReadMessage(strings.NewReader(server.content))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, got.Body))
	if want := strings.Replace(text, "{{ .Node.Name }}", "n1", 1); err != nil || string(body) != want {
		t.Errorf("body %q, %v", body, err)
	}
	if got.Header.Get("Subject") != "=?utf-8?q?Wartung_l=C3=A4uft?=" || got.Header.Get("To") != "a@example.com, b@example.com" || got.Header.Get("Date") != "Sat, 28 Nov 2026 12:00:00 +0000" || got.Header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("header %v", got.Header)
	}
}

func TestMailThatIsRefusedIsAnErrorWithoutThePassword(t *testing.T) {
	for refuse, want := range map[string]string{"AUTH": "authentication: 550 \"no\"", "RCPT TO:<b@": "recipient b@example.com: 550 \"no\"", "MAIL": "sender a@example.com: 550 \"no\""} {
		server := startSMTP(t, refuse)
		n := &profile.Notifier{Name: "m", Type: "mail", To: &profile.Mail{Address: server.address, From: "a@example.com", To: []string{"a@example.com", "b@example.com"}, Message: template(t, "m"), Auth: true, User: "u", Password: "geheim"}}
		err := (&Sender{}).Send(t.Context(), n, message())
		if err == nil || err.Error() != "notification m (mail): "+want {
			t.Errorf("%s: got %v", refuse, err)
		}
	}
}

func TestMailServerThatHangsIsLeft(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n := &profile.Notifier{To: &profile.Mail{Address: l.Addr().String(), From: "a@example.com", To: []string{"a@example.com"}, Message: template(t, "m")}}
	if err := (&Sender{}).Send(ctx, n, message()); err == nil {
		t.Error("no error")
	}
}

// web is a server of webhooks and of Slack.
type web struct {
	requests []*http.Request
	bodies   []map[string]string
	answer   string
	status   int
}

// start returns a client that reaches the server under every name.
func (w *web) start(t *testing.T) *http.Client {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body := map[string]string{}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.requests, w.bodies = append(w.requests, r), append(w.bodies, body)
		if w.status != 0 {
			rw.WriteHeader(w.status)
		}
		_, _ = io.WriteString(rw, w.answer)
	}))
	t.Cleanup(server.Close)
	client := server.Client()
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	inner := client.Transport
	client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Host = r.URL.Host
		r.URL.Host = to.Host
		return inner.RoundTrip(r)
	})
	return client
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWebhook(t *testing.T) {
	w := &web{status: 204}
	n := &profile.Notifier{Name: "w", Type: "webhook", To: &profile.Webhook{URL: "https://tickets.example.com/x", Headers: map[string]string{"Authorization": "Bearer geheim"}, Message: template(t, "{{ .Node.Name }} & co")}}
	s := &Sender{HTTP: w.start(t)}
	if err := s.Send(t.Context(), n, message()); err != nil {
		t.Fatal(err)
	}
	if r, b := w.requests[0], w.bodies[0]; r.Host != "tickets.example.com" || r.URL.Path != "/x" || r.Header.Get("Authorization") != "Bearer geheim" ||
		b["node"] != "n1" || b["profile"] != "p" || b["state"] != "in-maintenance" || b["message"] != "n1 & co" {
		t.Errorf("%v %v", r, b)
	}
	w.status = 500
	if err := s.Send(t.Context(), n, message()); err == nil || err.Error() != "notification w (webhook): the server answered 500 Internal Server Error" {
		t.Errorf("got %v", err)
	}
}

func TestSlack(t *testing.T) {
	w := &web{answer: "ok"}
	n := &profile.Notifier{Name: "s", Type: "slack", To: &profile.Slack{Hook: "https://hooks.slack.com/services/T/B/X", Channel: "#c", Message: template(t, "{{ .State }}")}}
	s := &Sender{HTTP: w.start(t)}
	if err := s.Send(t.Context(), n, message()); err != nil || w.bodies[0]["channel"] != "#c" || w.bodies[0]["text"] != "in-maintenance" || w.requests[0].URL.Path != "/services/T/B/X" {
		t.Errorf("%v, %v", w.bodies, err)
	}
	w.answer = "no_service"
	if err := s.Send(t.Context(), n, message()); err == nil || err.Error() != "notification s (slack): slack answered no_service" {
		t.Errorf("got %v", err)
	}
}

func TestSlackThreadLastsForItsPeriod(t *testing.T) {
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	api.Put("/api/v1/namespaces/ns", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "ns"}})
	now := saturday
	w := &web{answer: `{"ok":true,"ts":"100.5"}`}
	s := &Sender{HTTP: w.start(t), Kube: client, Now: func() time.Time { return now }}
	n := &profile.Notifier{Name: "t", Type: "slackThread", To: &profile.SlackThread{Token: "xoxb", Channel: "#c", Title: template(t, "title"), Message: template(t, "{{ .Node.Name }} <&>"),
		LeaseName: "l", LeaseNamespace: "ns", Period: profile.Duration(time.Hour)}}
	send := func(after time.Duration, want ...string) {
		t.Helper()
		now, w.bodies = saturday.Add(after), nil
		if err := s.Send(t.Context(), n, message()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range w.bodies {
			got = append(got, b["text"]+"@"+b["thread_ts"])
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("after %s: posted %q, want %q", after, got, want)
		}
	}
	send(0, "title@", "n1 &lt;&amp;&gt;@100.5")
	w.answer = `{"ok":true,"ts":"200.5"}`
	send(time.Hour, "n1 &lt;&amp;&gt;@100.5")
	send(time.Hour+time.Second, "title@", "n1 &lt;&amp;&gt;@200.5")
	if r := w.requests[0]; r.Host != "slack.com" || r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer xoxb" {
		t.Errorf("%v", r)
	}
	w.answer = `{"ok":false,"error":"invalid_auth"}`
	if err := s.Send(t.Context(), n, message()); err == nil || err.Error() != "notification t (slackThread): slack refused the message: invalid_auth" {
		t.Errorf("got %v", err)
	}
}
