package notify

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"

	"deployer/keeper/maintenance/profile"
)

// mail sends a mail. It uses STARTTLS when the server offers it. With auth, it sends the password only over TLS, or to
// this machine itself (net/smtp.PlainAuth).
func (s *Sender) mail(ctx context.Context, to *profile.Mail, m profile.Message) error {
	text, err := to.Message.Render(m)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(to.Address)
	if err != nil {
		return err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if ok, _ := client.Extension("STARTTLS"); ok {
		if err := client.StartTLS(&tls.Config{ServerName: host}); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
	}
	if to.Auth {
		if err := client.Auth(smtp.PlainAuth(to.Identity, to.User, to.Password, host)); err != nil {
			return fmt.Errorf("authentication: %w", err)
		}
	}
	return deliver(client, to, composeMail(to, text, s.now()))
}

// deliver hands a mail over.
func deliver(client *smtp.Client, to *profile.Mail, content string) error {
	if err := client.Mail(bare(to.From)); err != nil {
		return fmt.Errorf("sender %s: %w", to.From, err)
	}
	for _, address := range to.To {
		if err := client.Rcpt(bare(address)); err != nil {
			return fmt.Errorf("recipient %s: %w", address, err)
		}
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(content)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return client.Quit()
}

// bare returns the address without the name of a person.
func bare(address string) string {
	if parsed, err := mail.ParseAddress(address); err == nil {
		return parsed.Address
	}
	return address
}

// composeMail returns the mail with its headers. The text is base64, so that lines of any length and all characters
// arrive.
func composeMail(to *profile.Mail, text string, now time.Time) string {
	_, domain, _ := strings.Cut(bare(to.From), "@")
	var b strings.Builder
	for _, header := range [][2]string{
		{"From", to.From}, {"To", strings.Join(to.To, ", ")}, {"Subject", mime.QEncoding.Encode("utf-8", to.Subject)},
		{"Date", now.UTC().Format(time.RFC1123Z)}, {"Message-ID", "<" + rand.Text() + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "base64"},
	} {
		b.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	b.WriteString("\r\n")
	for body := base64.StdEncoding.EncodeToString([]byte(text)); body != ""; {
		n := min(len(body), 76)
		b.WriteString(body[:n] + "\r\n")
		body = body[n:]
	}
	return b.String()
}
