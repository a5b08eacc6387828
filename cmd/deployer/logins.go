package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine/transport"
	"deployer/inventory"
)

// asking says which passwords of hosts are asked for.
type asking struct{ login, become bool }

// askFlags are the flags of verbs that reach hosts.
func askFlags(cmd *cobra.Command, a *asking) {
	cmd.Flags().BoolVarP(&a.login, "ask-pass", "k", false, "ask for the password to log in with, for hosts that have none in the inventory")
	cmd.Flags().BoolVarP(&a.become, "ask-become-pass", "K", false, "ask for the password to become root with, likewise")
}

// words are the flags as they were typed.
func (a asking) words() []string {
	var out []string
	if a.login {
		out = append(out, "-k")
	}
	if a.become {
		out = append(out, "-K")
	}
	return out
}

// logins are the passwords of hosts and the passphrases of keys. Each comes from
// the environment variable or the file that the inventory names, or was asked for
// on the terminal, once. They reach no output and no journal.
type logins struct {
	prompt        prompt
	login, become string            // as asked for; empty when not
	variables     map[string]string // of passphrases, by key file
	passphrases   map[string]string // as asked for or looked up, by key file
	stopped       error             // of a question that was interrupted
	refused       transport.Passwords
}

// newLogins asks for the passwords that the command line says to ask for.
func newLogins(e env, inv *inventory.Inventory, a asking) (*logins, error) {
	l := &logins{prompt: prompt{e.stdin, e.stderr}, variables: map[string]string{}, passphrases: map[string]string{}}
	for _, h := range inv.Hosts {
		if h.SSH.KeyPassphraseEnv != "" {
			l.variables[h.SSH.Key] = h.SSH.KeyPassphraseEnv
		}
		for _, hop := range h.SSH.Bastion {
			if hop.KeyPassphraseEnv != "" {
				l.variables[hop.Key] = hop.KeyPassphraseEnv
			}
		}
	}
	if a.become && !slices.ContainsFunc(inv.Hosts, becomesRoot) {
		return nil, usageError(errors.New("--ask-become-pass: no host of the inventory says how its user becomes root: set ssh.become to sudo, doas or su"))
	}
	var err error
	if a.login {
		if l.login, err = l.prompt.secret("password to log in with: "); err != nil {
			return nil, asked("--ask-pass", "set ssh.password_env or ssh.password_file", err)
		}
	}
	if !a.become {
		return l, nil
	}
	question := "password to become root with: "
	if l.login != "" {
		question = "password to become root with [the same]: "
	}
	if l.become, err = l.prompt.secret(question); err != nil {
		return nil, asked("--ask-become-pass", "set ssh.become_password_env or ssh.become_password_file", err)
	}
	if l.become == "" {
		l.become = l.login
	}
	return l, nil
}

func becomesRoot(h inventory.Host) bool { return h.SSH.Become != "none" }

// asked is the error of a question that was not answered.
func asked(flag, instead string, err error) error {
	if errors.Is(err, errNoTerminal) {
		return usageError(fmt.Errorf("%s: %w; %s in the inventory", flag, err, instead))
	}
	return err
}

// loginPassword is the password with which a user logs in, empty when there is
// none.
func (l *logins) loginPassword(h inventory.Host) (string, error) {
	return l.given(h.Name, "password", h.SSH.PasswordEnv, h.SSH.PasswordFile, l.login)
}

// hopPassword is likewise that of a bastion.
func (l *logins) hopPassword(name string, hop inventory.Hop, otherwise string) (string, error) {
	return l.given(name, "password", hop.PasswordEnv, hop.PasswordFile, otherwise)
}

// becomePassword is the one with which the user becomes root.
func (l *logins) becomePassword(h inventory.Host) (string, error) {
	if !becomesRoot(h) {
		return "", nil
	}
	return l.given(h.Name, "become_password", h.SSH.BecomePasswordEnv, h.SSH.BecomePasswordFile, l.become)
}

// given looks a password up where the inventory says; otherwise stands for what
// was asked for.
func (l *logins) given(whose, key, variable, file, otherwise string) (string, error) {
	switch {
	case variable != "":
		value, ok := os.LookupEnv(variable)
		if !ok {
			return "", fmt.Errorf("%s: the environment variable %s (ssh.%s_env) is not set", whose, variable, key)
		}
		return value, nil
	case file != "":
		line, err := firstLine(file)
		if err != nil {
			return "", fmt.Errorf("%s: reading ssh.%s_file: %w", whose, key, err)
		}
		return line, nil
	}
	return otherwise, nil
}

// firstLine is the first line of a file, which is opened when it is encrypted.
func firstLine(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err == nil && strings.HasSuffix(file, ".age") {
		content, err = ownKeys().Open(file, content)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSuffix(line, "\r"), err
}

// passphrase is that of a key file, of which so many were wrong. It is for
// ssh.Options.
func (l *logins) passphrase(path string, wrong int) ([]byte, error) {
	if l.stopped != nil {
		return nil, l.stopped
	}
	if known, ok := l.passphrases[path]; ok && wrong == 0 {
		return []byte(known), nil
	}
	name, ok := l.variables[path]
	value, set := os.LookupEnv(name)
	switch {
	case ok && !set:
		return nil, fmt.Errorf("the environment variable %s (ssh.key_passphrase_env) is not set", name)
	case ok && wrong > 0:
		return nil, fmt.Errorf("the passphrase in %s (ssh.key_passphrase_env) is wrong", name)
	case !ok:
		var err error
		value, err = l.prompt.secret(fmt.Sprintf("passphrase of the key %s: ", path))
		if errors.Is(err, errNoTerminal) {
			return nil, fmt.Errorf("set ssh.key_passphrase_env, or add it to an SSH agent (ssh-add); its passphrase cannot be asked for: %w", err)
		}
		if err != nil {
			l.stopped = err
			return nil, err
		}
	}
	l.passphrases[path] = value
	return []byte(value), nil
}

// secrets are all texts that are to reach no output. Its errors are the user's.
func (l *logins) secrets(inv *inventory.Inventory) ([]string, error) {
	all := []string{l.login, l.become}
	for _, h := range inv.Hosts {
		login, err := l.loginPassword(h)
		if err != nil {
			return nil, usageError(err)
		}
		become, err := l.becomePassword(h)
		if err != nil {
			return nil, usageError(err)
		}
		all = append(all, login, become)
		for _, hop := range h.SSH.Bastion {
			password, err := l.hopPassword("the bastion of "+h.Name, hop, "")
			if err != nil {
				return nil, usageError(err)
			}
			all = append(all, password)
		}
	}
	for _, p := range l.passphrases {
		all = append(all, p)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" }), nil
}
