package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"deployer/engine/transport"
	"deployer/inventory"
	"deployer/project"
)

// Credentials are the passwords of hosts and the passphrases of keys. Each comes from
// the environment variable or file that the inventory names, or from one prompt. No
// output and no journal contains them.
type Credentials struct {
	inv           *inventory.Inventory
	decrypt       func(file string, content []byte) ([]byte, error)
	prompt        Prompter
	login, become string            // answers of prompts; empty without a prompt
	passphraseEnv map[string]string // environment variables of passphrases, by key file
	passphrases   map[string]string // known passphrases, by key file
	interrupted   error             // error of an interrupted prompt
	attempts      transport.Passwords
}

// The prompts of NewCredentials.
const (
	loginPrompt  = "SSH password: "
	becomePrompt = "privilege-escalation password"
)

// IsPasswordPrompt reports whether a question is one of NewCredentials, whose answers hold
// for all hosts.
func IsPasswordPrompt(question string) bool {
	return question == loginPrompt || strings.HasPrefix(question, becomePrompt)
}

// NewCredentials prompts for the passwords that which selects. ask is nil for a program
// without a terminal.
func NewCredentials(p *project.Project, which PromptFlags, ask Prompter) (*Credentials, error) {
	if ask == nil {
		ask = func(string) (string, error) { return "", &NotInteractiveError{"the program has no terminal"} }
	}
	c := &Credentials{inv: p.Inventory, decrypt: p.Open, prompt: ask, passphraseEnv: passphraseVariables(p.Inventory), passphrases: map[string]string{}}
	if which.Become && !slices.ContainsFunc(c.inv.Hosts, becomesRoot) {
		return nil, project.AsUserError(errors.New("--ask-become-pass: no host of the inventory uses privilege escalation: set ssh.become to sudo, doas or su"))
	}
	var err error
	if which.Login {
		if c.login, err = ask(loginPrompt); err != nil {
			return nil, promptError("--ask-pass", "set ssh.password_env or ssh.password_file", err)
		}
	}
	if !which.Become {
		return c, nil
	}
	question := becomePrompt + ": "
	if c.login != "" {
		question = becomePrompt + " [default: the SSH password]: "
	}
	if c.become, err = ask(question); err != nil {
		return nil, promptError("--ask-become-pass", "set ssh.become_password_env or ssh.become_password_file", err)
	}
	if c.become == "" {
		c.become = c.login
	}
	return c, nil
}

// passphraseVariables returns the environment variables of passphrases, by key file.
func passphraseVariables(inv *inventory.Inventory) map[string]string {
	out := map[string]string{}
	for _, h := range inv.Hosts {
		if h.SSH.KeyPassphraseEnv != "" {
			out[h.SSH.Key] = h.SSH.KeyPassphraseEnv
		}
		for _, hop := range h.SSH.Bastion {
			if hop.KeyPassphraseEnv != "" {
				out[hop.Key] = hop.KeyPassphraseEnv
			}
		}
	}
	return out
}

func becomesRoot(h inventory.Host) bool { return h.SSH.Become != "none" }

// loginPassword returns the SSH login password of a host; empty for none.
func (c *Credentials) loginPassword(h inventory.Host) (string, error) {
	return c.lookUp(h.Name, "password", h.SSH.PasswordEnv, h.SSH.PasswordFile, c.login)
}

// hopPassword returns the SSH login password of a bastion.
func (c *Credentials) hopPassword(name string, hop inventory.Hop, otherwise string) (string, error) {
	return c.lookUp(name, "password", hop.PasswordEnv, hop.PasswordFile, otherwise)
}

// becomePassword returns the privilege-escalation password of a host; empty for none.
func (c *Credentials) becomePassword(h inventory.Host) (string, error) {
	if !becomesRoot(h) {
		return "", nil
	}
	return c.lookUp(h.Name, "become_password", h.SSH.BecomePasswordEnv, h.SSH.BecomePasswordFile, c.become)
}

// lookUp returns a password from the environment variable or file of the inventory, or
// else otherwise, the answer of the prompt.
func (c *Credentials) lookUp(whose, key, variable, file, otherwise string) (string, error) {
	switch {
	case variable != "":
		value, ok := os.LookupEnv(variable)
		if !ok {
			return "", fmt.Errorf("%s: the environment variable %s (ssh.%s_env) is not set", whose, variable, key)
		}
		return value, nil
	case file != "":
		line, err := c.readSecret(file)
		if err != nil {
			return "", fmt.Errorf("%s: reading ssh.%s_file: %w", whose, key, err)
		}
		return line, nil
	}
	return otherwise, nil
}

// readSecret returns the first line of a file, which may be encrypted with age.
func (c *Credentials) readSecret(file string) (string, error) {
	content, err := os.ReadFile(file)
	if encrypted := strings.HasSuffix(file, ".age"); err == nil && encrypted && c.decrypt == nil {
		err = errors.New("the file is encrypted, and there is no key")
	} else if err == nil && encrypted {
		content, err = c.decrypt(file, content)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSuffix(line, "\r"), err
}

// passphrase returns the passphrase of a key file; wrong is the number of wrong
// passphrases before. passphrase implements ssh.Options.Passphrase.
func (c *Credentials) passphrase(path string, wrong int) ([]byte, error) {
	if c.interrupted != nil {
		return nil, c.interrupted
	}
	if known, ok := c.passphrases[path]; ok && wrong == 0 {
		return []byte(known), nil
	}
	name, ok := c.passphraseEnv[path]
	value, set := os.LookupEnv(name)
	switch {
	case ok && !set:
		return nil, fmt.Errorf("the environment variable %s (ssh.key_passphrase_env) is not set", name)
	case ok && wrong > 0:
		return nil, fmt.Errorf("the passphrase in %s (ssh.key_passphrase_env) is wrong", name)
	case !ok:
		var err error
		var notInteractive *NotInteractiveError
		value, err = c.prompt(fmt.Sprintf("passphrase of the key %s: ", path))
		if errors.As(err, &notInteractive) {
			return nil, fmt.Errorf("prompting for the passphrase of the key: %w; set ssh.key_passphrase_env, or add the key to an SSH agent (ssh-add)", err)
		}
		if err != nil {
			c.interrupted = err
			return nil, err
		}
	}
	c.passphrases[path] = value
	return []byte(value), nil
}

// Secrets returns all passwords and passphrases, for redaction. Its errors are
// *project.UserError.
func (c *Credentials) Secrets() ([]string, error) {
	all := []string{c.login, c.become}
	for _, h := range c.inv.Hosts {
		login, err := c.loginPassword(h)
		if err != nil {
			return nil, project.AsUserError(err)
		}
		become, err := c.becomePassword(h)
		if err != nil {
			return nil, project.AsUserError(err)
		}
		all = append(all, login, become)
		for _, hop := range h.SSH.Bastion {
			password, err := c.hopPassword("the bastion of "+h.Name, hop, "")
			if err != nil {
				return nil, project.AsUserError(err)
			}
			all = append(all, password)
		}
	}
	for _, p := range c.passphrases {
		all = append(all, p)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" }), nil
}
