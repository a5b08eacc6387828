package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

// lockedSite returns a site that accepts passwords and no keys.
func lockedSite(t *testing.T, cfg sshtest.Config) *site {
	t.Helper()
	cfg.Authorized = []gossh.PublicKey{newKey(t).PublicKey()}
	s := newSite(t, cfg)
	s.target.Password = "right"
	return s
}

func TestPassword(t *testing.T) {
	for name, asking := range map[string][]string{"password": nil, "keyboard-interactive": {"Password: "}} {
		t.Run(name, func(t *testing.T) {
			s := lockedSite(t, sshtest.Config{Passwords: map[string]string{"root": "right"}, Asking: asking})
			d := dialer(t, Options{})
			_ = s.open(d)(t).Close() // after the key was refused
			s.target.Keys, s.target.NoAgent = []string{}, true
			_ = s.open(d)(t).Close()
			s.target.Password = "wrong"
			_, err := d.Dial(t.Context(), s.target)
			if transport.KindOf(err) != transport.LoginPassword || !strings.Contains(err.Error(), "m1: auth: as user root: ") || strings.Contains(err.Error(), "wrong") {
				t.Errorf("got %v", err)
			}
			if s.server.Guesses() != 3 {
				t.Errorf("%d guesses", s.server.Guesses())
			}
		})
	}
}

// TestQuestionsForAPassword: the password is sent to prompts for a password and to no
// other prompt.
func TestQuestionsForAPassword(t *testing.T) {
	for question, want := range map[string]bool{
		"Password: ": true, "(root@m1) Password: ": true, "root@m1's password: ": true, "Password for root@pin.token.example:": true,
		"Passwort: ": true, "Mot de passe : ": true, "パスワード:": true, "code@new-host's password: ": true,
		"Verification code: ": false, "One-time password (OATH) for `root': ": false, "Enter PASSCODE: ": false, "YubiKey for `root': ": false,
		"": false, "Token: ": false, "Favourite colour: ": false, "New password: ": false, "Password + token code: ": false, "Enter PIN: ": false,
	} {
		if got := asksForPassword(question); got != want {
			t.Errorf("%q: %v, want %v", question, got, want)
		}
	}
}

func TestPasswordsThatDoNotServe(t *testing.T) {
	for text, cfg := range map[string]sshtest.Config{
		"the server did not ask for the password":                                                    {},
		`the server asks for more than a password: ["Password: " "Code: "]; check ssh.user`:          {Passwords: map[string]string{}, Asking: []string{"Password: ", "Code: "}},
		`the server asks for something other than a password: "Verification code: "; check ssh.user`: {Passwords: map[string]string{"root": "right"}, Asking: []string{"Verification code: "}},
	} {
		s := lockedSite(t, cfg)
		_, err := dialer(t, Options{}).Dial(t.Context(), s.target)
		if transport.KindOf(err) != transport.Auth || !strings.Contains(err.Error(), text) || s.server.Guesses() != 0 {
			t.Errorf("%d guesses, want %q: %v", s.server.Guesses(), text, err)
		}
	}
}

// TestWrongPasswordIsTriedTwice: only two of many connections try a wrong password,
// so that no account is locked.
func TestWrongPasswordIsTriedTwice(t *testing.T) {
	s := lockedSite(t, sshtest.Config{Passwords: map[string]string{"root": "another"}})
	d := dialer(t, Options{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			target := s.target
			target.Host = fmt.Sprint("n", i)
			if _, err := d.Dial(t.Context(), target); transport.KindOf(err) != transport.LoginPassword {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if s.server.Guesses() != 2 {
		t.Errorf("%d guesses", s.server.Guesses())
	}
}

// TestManyKeysLeaveRoomForThePassword: a server counts the keys that it refuses, so
// one attempt is left for the password.
func TestManyKeysLeaveRoomForThePassword(t *testing.T) {
	s := lockedSite(t, sshtest.Config{Passwords: map[string]string{"root": "right"}})
	for i := range 10 {
		key, _ := writeKey(t, filepath.Join(s.dir, fmt.Sprint("id", i)))
		s.target.Keys = append(s.target.Keys, key)
	}
	_ = s.open(dialer(t, Options{}))(t).Close()
}

func TestPassphraseIsAskedForAgainWhenWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []string // one a question
		text    string   // of the error
	}{
		"correct passphrase at the third prompt": {answers: []string{"a", "b", "secret"}},
		"wrong passphrase at every prompt":       {answers: []string{"a", "b", "c"}, text: "id: it is encrypted, and the passphrase is wrong"},
		"no terminal":                            {text: "id: it is encrypted: no terminal"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			key, public := lockedKey(t, dir+"/id")
			s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
			s.target.Keys = []string{key}
			asked := 0
			d := dialer(t, Options{Passphrase: func(_ string, wrong int) ([]byte, error) {
				if wrong != asked || wrong == len(tt.answers) {
					return nil, errors.New("no terminal")
				}
				asked++
				return []byte(tt.answers[wrong]), nil
			}})
			behind := s.target
			behind.Bastions = []Target{s.target}
			d.Unlock(behind, s.target)
			if asked != len(tt.answers) {
				t.Errorf("asked %d times", asked)
			}
			c, err := d.Dial(context.WithoutCancel(t.Context()), s.target)
			if tt.text == "" && err == nil {
				_ = c.Close()
				return
			}
			if tt.text == "" || err == nil || !strings.Contains(err.Error(), tt.text) || asked != len(tt.answers) {
				t.Errorf("asked %d times: %v", asked, err)
			}
		})
	}
}

// TestUsualKeyIsAskedForOnlyWhenAlone checks that the passphrase of a default key is asked
// for only when there is no other way to log in.
func TestUsualKeyIsAskedForOnlyWhenAlone(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	key, public := lockedKey(t, filepath.Join(home, "locked"))
	move(t, key, filepath.Join(home, ".ssh", "id_ed25519"))
	s := newSite(t, sshtest.Config{Authorized: []gossh.PublicKey{public}})
	s.target.Keys = nil
	asked := 0
	opts := Options{Passphrase: func(string, int) ([]byte, error) { asked++; return []byte("secret"), nil }}
	s.target.Password = "some"
	if _, err := dialer(t, opts).Dial(t.Context(), s.target); err == nil || asked != 0 || !strings.Contains(err.Error(), "name it in ssh.key") {
		t.Errorf("asked %d times: %v", asked, err)
	}
	s.target.Password = ""
	_ = s.open(dialer(t, opts))(t).Close()
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if _, err := os.Stat(key); err == nil {
		t.Error("the key was not moved")
	}
}

// TestGoodPasswordServesManyHosts: a password that one host has accepted is tried on
// all others without waiting.
func TestGoodPasswordServesManyHosts(t *testing.T) {
	s := lockedSite(t, sshtest.Config{Passwords: map[string]string{"root": "right"}})
	open := s.open(dialer(t, Options{}))
	for range 4 {
		_ = open(t).Close()
	}
}
