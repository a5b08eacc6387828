package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"

	"deployer/engine/protocol"
	"deployer/engine/transport"
)

// speaker is a host that answers every command with the same text, in which MARKER
// stands for the marker of the probe, and then ends the command.
type speaker struct {
	words, complaint string
	lost             chan struct{}
}

func newSpeaker(words, complaint string) *speaker {
	s := &speaker{words: words, complaint: complaint, lost: make(chan struct{})}
	close(s.lost)
	return s
}

func (s *speaker) Exec(context.Context, string, io.Reader, io.Writer) (transport.Exit, error) {
	return transport.Exit{}, errors.New("not for this")
}

func (s *speaker) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("not for this")
}
func (s *speaker) Lost() <-chan struct{} { return s.lost }
func (s *speaker) Err() error            { return nil }
func (s *speaker) Close() error          { return nil }

func (s *speaker) Start(_ context.Context, line string) (transport.Process, error) {
	_, rest, _ := strings.Cut(line, " deployer-")
	marker, _, _ := strings.Cut(rest, " ")
	return &spokenWords{strings.NewReader(strings.ReplaceAll(s.words, "MARKER", "deployer-"+marker)), s.complaint}, nil
}

func (s *speaker) StartTerminal(ctx context.Context, line string) (transport.Process, error) {
	return s.Start(ctx, line)
}

type spokenWords struct {
	out       *strings.Reader
	complaint string
}

type nothing struct{ io.Writer }

func (nothing) Close() error { return nil }

func (p *spokenWords) Stdin() io.WriteCloser         { return nothing{io.Discard} }
func (p *spokenWords) Stdout() io.Reader             { return p.out }
func (p *spokenWords) Stderr() string                { return p.complaint }
func (p *spokenWords) Wait() (transport.Exit, error) { return transport.Exit{Stderr: p.complaint}, nil }
func (p *spokenWords) Close() error                  { return nil }

// hears connects to such a host. The error must be an error of the host and safe to
// show.
func hears(t *testing.T, words, complaint string, become Become, limit time.Duration) *transport.Error {
	t.Helper()
	s, err := Connect(t.Context(), newSpeaker(words, complaint), Options{Host: "m1", Binaries: ownBinaries(), Become: become,
		Password: rightPassword, Timeout: limit})
	if err == nil {
		_ = s.Close()
		return nil
	}
	var e *transport.Error
	if !errors.As(err, &e) || e.Host != "m1" {
		t.Fatalf("got %v", err)
	}
	text := err.Error()
	if strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "right") && !strings.Contains(words+complaint, "right") {
		t.Fatalf("not to be shown: %q", text)
	}
	return e
}

func TestHostsThatAnswerNonsense(t *testing.T) {
	const begun = "hello\nMARKER\nuid=1000\n"
	const inside = begun + "MARKER\nuser=0\nsystem=Linux x86_64\n"
	for name, tt := range map[string]struct {
		words  string
		become Become
		text   string
	}{
		"no output":                         {"", NoBecome, "did not answer the probe"},
		"escape sequences":                  {"\x1b[2J\x1b]0;owned\x07disabled\n", NoBecome, ": disabled;"},
		"one endless line":                  {strings.Repeat("x", 2<<20), NoBecome, "did not answer the probe"},
		"endless lines":                     {strings.Repeat("x\n", 2<<20), NoBecome, "more than 1 MiB"},
		"endless probe answers":             {inside + strings.Repeat("tried=x\n", 1<<20), NoBecome, "more than 1 MiB"},
		"only the first marker":             {begun, NoBecome, "did not answer the probe"},
		"sudo waits for input":              {begun + "become=sudo\nPassword:", Sudo, "sudo did not become root"},
		"su fails on a terminal":            {begun + "become=su\nsu: Authentication failure\n", Su, "su did not become root: su: Authentication failure"},
		"user is not root after escalation": {inside[:strings.Index(inside, "user")] + "user=1000\nsystem=Linux x86_64\nagent=present\n", Sudo, "the user with uid 1000, not root"},
		"unknown problem":                   {inside + "error=\x1b[31mno\n", NoBecome, `unknown answer to the probe: "no"`},
		"no digest":                         {inside + "agent=missing\nerror=digest\n", NoBecome, `its SHA-256 is ""`},
		"end of output before the banner":   {inside + "agent=missing\n", NoBecome, "the host did not receive the agent"},
		"no banner":                         {inside + "agent=present\n", NoBecome, "it exited before its banner"},
		"noise instead of a banner":         {inside + "agent=present\n" + strings.Repeat("y", 3<<20), NoBecome, "before"},
		"a banner and no frames":            {inside + "agent=present\n" + protocol.Banner + "\nls: no such file\n", NoBecome, "unknown frame type"},
		"answers without a marker":          {"uid=0\nsystem=Linux x86_64\nagent=present\n" + protocol.Banner + "\n", NoBecome, "did not answer the probe"},
	} {
		e := hears(t, tt.words, "", tt.become, 20*time.Second)
		if e == nil || !strings.Contains(e.Error(), tt.text) {
			t.Errorf("%s: got %v, want %q", name, e, tt.text)
		}
	}
}

func FuzzConnect(f *testing.F) {
	f.Add("hello\nMARKER\nuid=1000\nbecome=su\nPassword: \nMARKER\nuser=0\nsystem=Linux x86_64\nagent=missing\nagent=present\n"+protocol.Banner+"\n", "sudo: \x1b[2Jno", byte(1))
	f.Add("MARKER\nMARKER\ntried=\x1b]0;x\x07\nerror=no-directory\n", "", byte(0))
	f.Add("MARKER\nuid=\nMARKER\nsystem=\ndir=\nagent=missing\ndigest=\nerror=digest\n", "doas: not permitted", byte(2))
	f.Fuzz(func(t *testing.T, words, complaint string, become byte) {
		if strings.Contains(words+complaint, "right") {
			return // it is the password
		}
		hears(t, words, complaint, []Become{NoBecome, Sudo, Doas, Su}[become%4], 300*time.Millisecond)
	})
}
