package target

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"deployer/inventory"
	"deployer/project"
)

// fakePrompter gives fixed answers in order, and then fails with NotInteractiveError.
type fakePrompter struct {
	answers []string
	asked   []string
}

func (y *fakePrompter) ask(question string) (string, error) {
	y.asked = append(y.asked, question)
	if len(y.answers) == 0 {
		return "", &NotInteractiveError{Why: "the typist is gone"}
	}
	answer := y.answers[0]
	y.answers = y.answers[1:]
	return answer, nil
}

// TestPromptedPasswords checks that an empty answer means the SSH password, and that
// hosts with a password in the inventory keep it.
func TestPromptedPasswords(t *testing.T) {
	p := load(t, "hosts: {m1: {ssh: {become: sudo}}, m2: {ssh: {become: su, become_password_env: ROOT_PASSWORD}}, m3: }", "")
	t.Setenv("ROOT_PASSWORD", "of root")
	for _, tt := range []struct {
		ask       PromptFlags
		answers   []string
		want      [3]string // to become root on m1, m2, m3
		questions []string
	}{
		{PromptFlags{}, nil, [3]string{"", "of root", ""}, nil},
		{PromptFlags{Become: true}, []string{"x"}, [3]string{"x", "of root", ""}, []string{"privilege-escalation password: "}},
		{PromptFlags{Login: true, Become: true}, []string{"x", ""}, [3]string{"x", "of root", ""}, []string{"SSH password: ", "privilege-escalation password [default: the SSH password]: "}},
		{PromptFlags{Login: true, Become: true}, []string{"x", "y"}, [3]string{"y", "of root", ""}, []string{"SSH password: ", "privilege-escalation password [default: the SSH password]: "}},
	} {
		y := &fakePrompter{answers: tt.answers}
		l, err := NewCredentials(p, tt.ask, y.ask)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range p.Inventory.Hosts {
			if got, err := l.becomePassword(h); err != nil || got != tt.want[i] {
				t.Errorf("%v: %s has %q, %v", tt.answers, h.Name, got, err)
			}
		}
		if !slices.Equal(y.asked, tt.questions) {
			t.Errorf("asked %q", y.asked)
		}
		if all, err := l.Secrets(); err != nil || strings.Contains(strings.Join(all, ","), ",,") || len(all) < 1 {
			t.Errorf("secrets are %q, %v", all, err)
		}
	}
	for want, inventory := range map[string]string{"set ssh.become to sudo": "hosts: {m1: }", "the program has no terminal; set ssh.become_password_env": "hosts: {m1: {ssh: {become: sudo}}}"} {
		_, err := NewCredentials(load(t, inventory, ""), PromptFlags{Become: true}, nil)
		var userError *project.UserError
		if !errors.As(err, &userError) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	}
}

// TestPassphrases checks that the passphrase of a key is prompted for once in a run.
func TestPassphrases(t *testing.T) {
	y := &fakePrompter{answers: []string{"wrong", "right"}}
	l, err := NewCredentials(load(t, "hosts: {m1: {ssh: {key: /k, key_passphrase_env: NOT_SET}}}", ""), PromptFlags{}, y.ask)
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
	if want := slices.Repeat([]string{"passphrase of the key /asked: "}, 2); !slices.Equal(y.asked, want) {
		t.Errorf("asked %q", y.asked)
	}
	if _, err := l.passphrase("/k", 0); err == nil || !strings.Contains(err.Error(), "NOT_SET (ssh.key_passphrase_env) is not set") {
		t.Errorf("got %v", err)
	}
	t.Setenv("NOT_SET", "x")
	if _, err := l.passphrase("/k", 1); err == nil || !strings.Contains(err.Error(), "NOT_SET (ssh.key_passphrase_env) is wrong") {
		t.Errorf("got %v", err)
	}
	if _, err := l.passphrase("/other", 0); err == nil || !strings.HasPrefix(err.Error(), "prompting for the passphrase of the key: ") {
		t.Errorf("got %v", err)
	}
}

// TestBastionPasswords checks that the password of a user is not sent for another user.
func TestBastionPasswords(t *testing.T) {
	t.Setenv("HOSTS", "h")
	t.Setenv("GATE", "g")
	p := load(t, `ssh: {user: ops, password_env: HOSTS, config: none}
hosts:
  m1: {ssh: {bastion: {address: a}}}
  m2: {ssh: {bastion: {address: a, user: gate}}}
  m3: {ssh: {bastion: {address: a, user: gate, password_env: GATE}}}
  m4: {ssh: {bastion: {host: m5, user: gate}}}
  m5: {}
  m6: {ssh: {bastion: {host: m5}}}
`, "")
	l, err := NewCredentials(p, PromptFlags{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTargets(p.Inventory, l)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"m1": "h", "m2": "", "m3": "g", "m4": "", "m6": "h"} {
		if hop := w.byHost[host].Bastions[0]; hop.Password != want || w.byHost[host].Password != "h" {
			t.Errorf("%s: the bastion is given %q", host, hop.Password)
		}
	}
	if all, err := l.Secrets(); err != nil || strings.Join(all, ",") != "g,h" {
		t.Errorf("secrets are %q, %v", all, err)
	}
	var none inventory.Host
	if _, err := l.lookUp(none.Name, "password", "NOWHERE", "", ""); err == nil {
		t.Error("a variable that is not set is a password")
	}
}
