package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"deployer/engine/transport/ssh"
	"deployer/inventory"
)

// ways are the ways to the hosts of an inventory: what it says, completed by the
// client configuration of OpenSSH.
type ways struct {
	inv     *inventory.Inventory
	configs map[string]*ssh.ClientConfig // by path
	targets map[string]ssh.Target
}

// newWays finds the way to every host, and what is wrong with it, before any
// network. Its errors are the user's.
func newWays(inv *inventory.Inventory) (*ways, error) {
	w := &ways{inv: inv, configs: map[string]*ssh.ClientConfig{}, targets: map[string]ssh.Target{}}
	for _, h := range inv.Hosts {
		if w.configs[h.SSH.Config] == nil {
			cfg, err := ssh.ReadClientConfig(h.SSH.Config)
			if err != nil {
				return nil, usageError(err)
			}
			w.configs[h.SSH.Config] = cfg
		}
		t, err := w.configs[h.SSH.Config].Apply(target(inv, h))
		if err != nil {
			return nil, usageError(fmt.Errorf("the way to host %s: %w", h.Name, err))
		}
		w.targets[h.Name] = t
	}
	return w, nil
}

// openSSH lists what the client configuration says about a host.
func (w *ways) openSSH(h inventory.Host) ([]ssh.Said, error) {
	return w.configs[h.SSH.Config].Says(target(w.inv, h))
}

// target is what the inventory says about the way to a host.
func target(inv *inventory.Inventory, h inventory.Host) ssh.Target {
	t := ssh.Target{
		Host:     h.Name,
		Address:  h.Address,
		Port:     h.SSH.Port,
		User:     h.SSH.User,
		NoAgent:  !h.SSH.Agent,
		HostKeys: ssh.Policy(h.SSH.HostKeys),
		Timeout:  h.SSH.ConnectTimeout,
	}
	if h.SSH.KnownHosts != "" {
		t.KnownHosts = []string{h.SSH.KnownHosts}
	}
	if h.SSH.Key != "" {
		t.Keys = []string{h.SSH.Key}
	}
	if h.SSH.Bastion != nil {
		t.Bastions = []ssh.Target{}
	}
	for _, hop := range h.SSH.Bastion {
		t.Bastions = append(t.Bastions, bastion(inv, t, hop))
	}
	return t
}

// bastion is reached like the host behind it, but for what its entry says, or
// like the host of the inventory that it names.
func bastion(inv *inventory.Inventory, behind ssh.Target, hop inventory.Hop) ssh.Target {
	b := behind
	b.Bastions = nil
	b.Host, b.Address, b.Port = "bastion "+hop.Address, hop.Address, hop.Port
	if h, ok := inv.Host(hop.Host); ok { // the inventory has made sure of it
		h.SSH.Bastion = nil
		b = target(inv, h)
		if hop.Port != 0 {
			b.Port = hop.Port
		}
	}
	if hop.User != "" {
		b.User = hop.User
	}
	if hop.Key != "" {
		b.Keys = []string{hop.Key}
	}
	return b
}

// passphrases answers for encrypted keys from the environment variables that the
// inventory names.
func passphrases(inv *inventory.Inventory) func(path string) ([]byte, error) {
	variables := map[string]string{}
	for _, h := range inv.Hosts {
		if h.SSH.KeyPassphraseEnv != "" {
			variables[h.SSH.Key] = h.SSH.KeyPassphraseEnv
		}
		for _, hop := range h.SSH.Bastion {
			if hop.KeyPassphraseEnv != "" {
				variables[hop.Key] = hop.KeyPassphraseEnv
			}
		}
	}
	return func(path string) ([]byte, error) {
		name, ok := variables[path]
		if !ok {
			return nil, fmt.Errorf("key %s is encrypted: set ssh.key_passphrase_env, or add the key to an SSH agent", path)
		}
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("key %s is encrypted, and the environment variable %s (ssh.key_passphrase_env) is not set", path, name)
		}
		return []byte(value), nil
	}
}

// becomePassword reads the password with which a host's login user becomes root,
// empty when it has none.
func becomePassword(h inventory.Host) (string, error) {
	switch {
	case h.SSH.BecomePasswordEnv != "":
		value, ok := os.LookupEnv(h.SSH.BecomePasswordEnv)
		if !ok {
			return "", fmt.Errorf("%s: the environment variable %s (ssh.become_password_env) is not set", h.Name, h.SSH.BecomePasswordEnv)
		}
		return value, nil
	case h.SSH.BecomePasswordFile != "":
		content, err := os.ReadFile(h.SSH.BecomePasswordFile)
		if err != nil {
			return "", fmt.Errorf("%s: reading ssh.become_password_file: %w", h.Name, err)
		}
		line, _, _ := strings.Cut(string(content), "\n")
		return strings.TrimSuffix(line, "\r"), nil
	}
	return "", nil
}

// newDialer makes what all SSH connections of a run share.
func newDialer(inv *inventory.Inventory) *ssh.Dialer {
	return ssh.NewDialer(ssh.Options{
		Passphrase:  passphrases(inv),
		AgentSocket: os.Getenv("SSH_AUTH_SOCK"),
		Beat:        5 * time.Second,
		Silence:     15 * time.Second,
	})
}
