package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"deployer/inventory"
	"deployer/secrets"
	"deployer/test/fleet"
)

// typist types answers on a terminal, once that does not show any more what is
// typed.
type typist struct {
	*os.File // the terminal, as a program sees it
	master   *os.File
	shown    screen
	done     sync.WaitGroup
}

// screen is what a terminal has shown.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newTypist(t *testing.T, answers ...string) *typist {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	y := &typist{File: tty, master: master}
	terminal := int(tty.Fd())
	y.done.Go(func() { _, _ = io.Copy(&y.shown, master) })
	y.done.Go(func() {
		for len(answers) > 0 {
			modes, err := unix.IoctlGetTermios(terminal, unix.TCGETS)
			if err != nil {
				return
			}
			if modes.Lflag&unix.ECHO == 0 {
				_, _ = io.WriteString(master, strings.Join(answers, "\n")+"\n")
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	t.Cleanup(func() { _ = tty.Close(); y.done.Wait(); _ = master.Close() })
	return y
}

const loginPassword = "swordfish-of-root"

// Hosts that take passwords only are reached with one from every source, and it
// is in no output and in no journal.
func TestLoginPasswords(t *testing.T) {
	y := newYardOf(t, 3, fleet.Options{Passwords: map[string]string{"root": loginPassword}}, map[string]string{
		"site.yaml": "- hosts: all\n  tasks: [{name: write, file: {path: /told, content: said}}]\n",
		"password":  loginPassword + "\n",
	})
	y.write("password.age", sealed(t, loginPassword+"\n"))
	t.Setenv("LOGIN_PASSWORD", loginPassword)
	plain, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, said := y.deployer(exitRefused, "run", "site.yaml")
	said += first(y.deployer(exitRefused, "run", "site.yaml"))
	says(t, said, "ssh.password_env", "--ask-pass")
	_, said = y.deployer(exitUsage, "run", "site.yaml", "-k")
	says(t, said, "--ask-pass: the standard input is not a terminal; set ssh.password_env or ssh.password_file in the inventory")
	for name, line := range map[string]string{"environment": "password_env: LOGIN_PASSWORD", "file": "password_file: password", "secret file": "password_file: password.age"} {
		y.write("inventory.yaml", strings.Replace(string(plain), "ssh:\n", "ssh:\n    "+line+"\n", 1))
		out, _ := y.deployer(exitOK, "run", "site.yaml", "-v")
		says(t, out, "3 hosts", "0 skipped")
		if strings.Contains(out, loginPassword) {
			t.Errorf("%s: the output tells the password", name)
		}
	}
	y.write("inventory.yaml", string(plain))
	tty := newTypist(t, loginPassword)
	var out, prompts bytes.Buffer
	if code := run(t.Context(), []string{"run", "site.yaml", "-vk", "-o", "json"}, tty.File, &out, &prompts); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), prompts.String())
	}
	if prompts.String() != "password to log in with: \n" || strings.Contains(tty.shown.String(), loginPassword) {
		t.Errorf("asked %q, on the terminal %q", prompts.String(), tty.shown.String())
	}
	err = filepath.WalkDir("state", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), loginPassword) {
			t.Errorf("%s tells the password", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func first(out, _ string) string { return out }

// sealed is a file of secrets that a new key of the environment opens.
func sealed(t *testing.T, text string) string {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keys := secrets.Environment(func(name string) (string, bool) { return id.String(), name == secrets.KeyVariable }, "/")
	before, reader := ownKeys, theReader
	ownKeys, theReader = func() *secrets.Keys { return keys }, id.Recipient()
	t.Cleanup(func() { ownKeys, theReader = before, reader })
	return sealedTo(t, text)
}

// theReader is who can read what sealedTo makes: the last one of sealed.
var theReader age.Recipient

func sealedTo(t *testing.T, text string) string {
	t.Helper()
	content, err := secrets.Seal([]byte(text), []age.Recipient{theReader})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Who becomes root with the password of the login need not type it twice, and
// nobody is asked who needs no password.
func TestAskedPasswords(t *testing.T) {
	inv := site(t, "hosts: {m1: {ssh: {become: sudo}}, m2: {ssh: {become: su, become_password_env: ROOT_PASSWORD}}, m3: }", "")
	t.Setenv("ROOT_PASSWORD", "of root")
	for _, tt := range []struct {
		ask     asking
		answers []string
		want    [3]string // to become root on m1, m2, m3
		prompts string
	}{
		{asking{}, nil, [3]string{"", "of root", ""}, ""},
		{asking{become: true}, []string{"x"}, [3]string{"x", "of root", ""}, "password to become root with: \n"},
		{asking{login: true, become: true}, []string{"x", ""}, [3]string{"x", "of root", ""}, "password to log in with: \npassword to become root with [the same]: \n"},
		{asking{login: true, become: true}, []string{"x", "y"}, [3]string{"y", "of root", ""}, "password to log in with: \npassword to become root with [the same]: \n"},
	} {
		var prompts bytes.Buffer
		l, err := newLogins(env{stdin: newTypist(t, tt.answers...).File, stderr: &prompts}, inv, tt.ask)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range inv.Hosts {
			if got, err := l.becomePassword(h); err != nil || got != tt.want[i] {
				t.Errorf("%v: %s has %q, %v", tt.answers, h.Name, got, err)
			}
		}
		if prompts.String() != tt.prompts {
			t.Errorf("asked %q", prompts.String())
		}
		if all, err := l.secrets(inv); err != nil || strings.Contains(strings.Join(all, ","), ",,") || len(all) < 1 {
			t.Errorf("secrets are %q, %v", all, err)
		}
	}
	_, err := newLogins(env{}, site(t, "hosts: {m1: }", ""), asking{become: true})
	if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "set ssh.become to sudo") {
		t.Errorf("got %v", err)
	}
}

// The passphrase of a key is asked for once a run, whoever wants it.
func TestPassphrases(t *testing.T) {
	var prompts bytes.Buffer
	tty := newTypist(t, "wrong", "right")
	l, err := newLogins(env{stdin: tty.File, stderr: &prompts}, site(t, "hosts: {m1: {ssh: {key: /k, key_passphrase_env: NOT_SET}}}", ""), asking{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"wrong", "right"} {
		if got, err := l.passphrase("/asked", i); err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := l.passphrase("/asked", 0); err != nil || string(got) != "right" {
		t.Errorf("got %q, %v", got, err)
	}
	if want := strings.Repeat("passphrase of the key /asked: \n", 2); prompts.String() != want {
		t.Errorf("asked %q", prompts.String())
	}
	if _, err := l.passphrase("/k", 0); err == nil || !strings.Contains(err.Error(), "NOT_SET (ssh.key_passphrase_env) is not set") {
		t.Errorf("got %v", err)
	}
	t.Setenv("NOT_SET", "x")
	if _, err := l.passphrase("/k", 1); err == nil || !strings.Contains(err.Error(), "NOT_SET (ssh.key_passphrase_env) is wrong") {
		t.Errorf("got %v", err)
	}
	l.prompt.in = strings.NewReader("")
	if _, err := l.passphrase("/other", 0); err == nil || !strings.HasPrefix(err.Error(), "set ssh.key_passphrase_env, or add it to an SSH agent") {
		t.Errorf("got %v", err)
	}
}

// The password of a user is no password of another one.
func TestPasswordsOfBastions(t *testing.T) {
	t.Setenv("HOSTS", "h")
	t.Setenv("GATE", "g")
	inv := site(t, `ssh: {user: ops, password_env: HOSTS, config: none}
hosts:
  m1: {ssh: {bastion: {address: a}}}
  m2: {ssh: {bastion: {address: a, user: gate}}}
  m3: {ssh: {bastion: {address: a, user: gate, password_env: GATE}}}
  m4: {ssh: {bastion: {host: m5, user: gate}}}
  m5: {}
  m6: {ssh: {bastion: {host: m5}}}
`, "")
	l, err := newLogins(env{}, inv, asking{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWays(inv, l)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"m1": "h", "m2": "", "m3": "g", "m4": "", "m6": "h"} {
		if hop := w.targets[host].Bastions[0]; hop.Password != want || w.targets[host].Password != "h" {
			t.Errorf("%s: the bastion is given %q", host, hop.Password)
		}
	}
	if all, err := l.secrets(inv); err != nil || strings.Join(all, ",") != "g,h" {
		t.Errorf("secrets are %q, %v", all, err)
	}
	var none inventory.Host
	if _, err := l.given(none.Name, "password", "NOWHERE", "", ""); err == nil {
		t.Error("a variable that is not set is a password")
	}
}
