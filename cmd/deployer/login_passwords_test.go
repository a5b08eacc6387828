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

	"deployer/secrets"
	"deployer/test/fleet"
)

// terminalUser types answers on a terminal while the terminal does not echo.
type terminalUser struct {
	*os.File // the program's end of the terminal
	master   *os.File
	shown    screen
	done     sync.WaitGroup
}

// screen collects the output of a terminal.
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

func newTerminalUser(t *testing.T, answers ...string) *terminalUser {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &terminalUser{File: tty, master: master}
	terminal := int(tty.Fd())
	s.done.Go(func() { _, _ = io.Copy(&s.shown, master) })
	s.done.Go(func() {
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
	t.Cleanup(func() { _ = tty.Close(); s.done.Wait(); _ = master.Close() })
	return s
}

const loginPassword = "swordfish-of-root"

// TestLoginPasswords checks password login with the password from each source, and that
// no output and no journal contains it.
func TestLoginPasswords(t *testing.T) {
	s := newTestSiteWith(t, 3, fleet.Options{Passwords: map[string]string{"root": loginPassword}}, map[string]string{
		"site.yaml": "- hosts: all\n  tasks: [{name: write, file: {path: /greeting, content: output}}]\n",
		"password":  loginPassword + "\n",
	})
	s.write("password.age", encrypt(t, loginPassword+"\n"))
	t.Setenv("LOGIN_PASSWORD", loginPassword)
	plain, err := os.ReadFile("inventory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, output := s.deployer(exitRefused, "run", "site.yaml")
	output += first(s.deployer(exitRefused, "run", "site.yaml"))
	requireTexts(t, output, "ssh.password_env", "--ask-pass")
	_, output = s.deployer(exitUsage, "run", "site.yaml", "-k")
	requireTexts(t, output, "--ask-pass: standard input is not a terminal; set ssh.password_env or ssh.password_file in the inventory")
	for name, line := range map[string]string{"environment": "password_env: LOGIN_PASSWORD", "file": "password_file: password", "secret file": "password_file: password.age"} {
		s.write("inventory.yaml", strings.Replace(string(plain), "ssh:\n", "ssh:\n    "+line+"\n", 1))
		out, _ := s.deployer(exitOK, "run", "site.yaml", "-v")
		requireTexts(t, out, "3 hosts", "0 skipped")
		if strings.Contains(out, loginPassword) {
			t.Errorf("%s: the output tells the password", name)
		}
	}
	s.write("inventory.yaml", string(plain))
	tty := newTerminalUser(t, loginPassword)
	var out, prompts bytes.Buffer
	if code := run(t.Context(), []string{"run", "site.yaml", "-vk", "-o", "json"}, tty.File, &out, &prompts); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), prompts.String())
	}
	if prompts.String() != "SSH password: \n" || strings.Contains(tty.shown.String(), loginPassword) {
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

// encrypt returns text encrypted for a new key, which it sets as the user's key.
func encrypt(t *testing.T, text string) string {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	keys := secrets.Environment(func(name string) (string, bool) { return id.String(), name == secrets.KeyVariable }, "/")
	before, reader := userKeys, theReader
	userKeys, theReader = func() *secrets.Keys { return keys }, id.Recipient()
	t.Cleanup(func() { userKeys, theReader = before, reader })
	return encryptForKey(t, text)
}

// theReader is the recipient of the last call of encrypt.
var theReader age.Recipient

func encryptForKey(t *testing.T, text string) string {
	t.Helper()
	content, err := secrets.Seal([]byte(text), []age.Recipient{theReader})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
