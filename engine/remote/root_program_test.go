package remote

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"deployer/engine/transport"
)

// TestStartAsRoot runs lines by each method to become root, on a terminal and without one.
func TestStartAsRoot(t *testing.T) {
	t.Parallel()
	// The lines contain characters that no command line for all login shells may
	// have.
	const lines = "[ -n \"$FAKE_ROOT\" ] || exit 9\nread -r line; printf '%s!\\n' \"it is $line\"; [ -t 1 ] || echo 'to stderr' >&2\nexit 5\n"
	base64 := shims{"base64": "#!/bin/sh\nexec /usr/bin/base64 \"$@\"\n", "id": fakeID, "sudo": fakeSudo, "su": fakeSu, "doas": fakeDoas}
	for name, tt := range map[string]struct {
		env      []string
		become   Become
		password string
	}{
		"root":                    {[]string{"FAKE_ROOT=1"}, Sudo, ""},
		"sudo without a password": {[]string{"FAKE_NOPASSWD=1"}, Sudo, ""},
		"sudo with a password":    {nil, Sudo, rightPassword},
		"sudo wants a terminal":   {[]string{"FAKE_NOPASSWD=1", "FAKE_REQUIRETTY=1"}, Sudo, ""},
		"su":                      {nil, Su, rightPassword},
		"doas":                    {nil, Doas, rightPassword},
	} {
		for _, terminal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, terminal %t", name, terminal), func(t *testing.T) {
				t.Parallel()
				h := newTestHost(t, `printf "Welcome!\n"; echo oops >&2; `, base64, tt.env...)
				conn, err := h.dialer.Dial(t.Context(), h.target)
				if err != nil {
					t.Fatal(err)
				}
				p, err := StartAsRoot(t.Context(), conn, Options{Host: "m1", Become: tt.become, Password: tt.password}, lines, terminal)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				if err := p.Resize(40, 120); err != nil {
					t.Error(err)
				}
				if _, err := io.WriteString(p.Stdin(), "input\n"); err != nil {
					t.Fatal(err)
				}
				out, err := io.ReadAll(p.Stdout())
				if got := strings.ReplaceAll(string(out), "\r", ""); err != nil || !strings.HasPrefix(got, "it is input!\n") {
					t.Errorf("output %q, %v", got, err)
				}
				exit, err := p.Wait()
				if err != nil || exit.Code != 5 {
					t.Errorf("exit %+v, %v", exit, err)
				}
				if needed := terminal || name == "su" || name == "doas" || name == "sudo wants a terminal"; !needed && exit.Stderr != "to stderr\n" {
					t.Errorf("standard error %q", exit.Stderr)
				}
			})
		}
	}
}

// TestStartAsRootSaysWhyNot: a refused password is a specific error, whose text does
// not contain the password.
func TestStartAsRootSaysWhyNot(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, "", shims{"id": fakeID, "sudo": fakeSudo})
	conn, err := h.dialer.Dial(t.Context(), h.target)
	if err != nil {
		t.Fatal(err)
	}
	_, err = StartAsRoot(t.Context(), conn, Options{Host: "m1", Become: Sudo, Password: "wrong-one"}, "true", false)
	if kind := transport.KindOf(err); kind != transport.BecomePassword || strings.Contains(err.Error(), "wrong-one") {
		t.Errorf("%v is of kind %v", err, kind)
	}
	select {
	case <-conn.Lost():
	default:
		t.Error("the connection stays open")
	}
}

func TestRootCommandIsPlainToEveryShell(t *testing.T) {
	t.Parallel()
	line := rootCommand("deployer-x", "sudo-password", "echo 'a'\n!b\\\\c\\'")
	for _, bad := range []string{"!", "\n", `\\`, `\'`} {
		if strings.Contains(line, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	if strings.Contains(rootScript, "'") {
		t.Errorf("a quote in %s", rootScript)
	}
}
