package target

import (
	"fmt"

	"deployer/engine/transport/ssh"
	"deployer/inventory"
	"deployer/project"
)

// Targets are the ways to the hosts of an inventory: what it says, completed by the
// client configuration of OpenSSH.
type Targets struct {
	inv         *inventory.Inventory
	credentials *Credentials                 // nil when no host is to be reached
	configs     map[string]*ssh.ClientConfig // by path
	byHost      map[string]ssh.Target
}

// NewTargets finds the way to every host, and what is wrong with it, before any
// network. Without logins the ways can be shown, not gone. Its errors are mistakes
// of the user's.
func NewTargets(inv *inventory.Inventory, l *Credentials) (*Targets, error) {
	w := &Targets{inv: inv, credentials: l, configs: map[string]*ssh.ClientConfig{}, byHost: map[string]ssh.Target{}}
	for _, h := range inv.Hosts {
		if w.configs[h.SSH.Config] == nil {
			cfg, err := ssh.ReadClientConfig(h.SSH.Config)
			if err != nil {
				return nil, project.AsUserError(err)
			}
			w.configs[h.SSH.Config] = cfg
		}
		t, err := w.target(h)
		if err != nil {
			return nil, project.AsUserError(err)
		}
		if t, err = w.configs[h.SSH.Config].Apply(t); err != nil {
			return nil, project.AsUserError(fmt.Errorf("the way to host %s: %w", h.Name, err))
		}
		w.byHost[h.Name] = t
	}
	return w, nil
}

// Target is how a host of the inventory is reached.
func (w *Targets) Target(host string) ssh.Target { return w.byHost[host] }

// OpenSSH lists what the client configuration says about a host.
func (w *Targets) OpenSSH(h inventory.Host) ([]ssh.Setting, error) {
	t, err := w.target(h)
	if err != nil {
		return nil, err
	}
	return w.configs[h.SSH.Config].Explain(t)
}

// target is what the inventory says about the way to a host.
func (w *Targets) target(h inventory.Host) (t ssh.Target, err error) {
	t = ssh.Target{
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
	if w.credentials != nil {
		if t.Password, err = w.credentials.loginPassword(h); err != nil {
			return t, err
		}
	}
	if h.SSH.Bastion != nil {
		t.Bastions = []ssh.Target{}
	}
	for _, hop := range h.SSH.Bastion {
		b, err := w.bastion(t, hop)
		if err != nil {
			return t, err
		}
		t.Bastions = append(t.Bastions, b)
	}
	return t, nil
}

// bastion is reached like the host behind it, but for what its entry says, or
// like the host of the inventory that it names. Another user has another password.
func (w *Targets) bastion(behind ssh.Target, hop inventory.Hop) (b ssh.Target, err error) {
	b = behind
	b.Bastions = nil
	b.Host, b.Address, b.Port = "bastion "+hop.Address, hop.Address, hop.Port
	if h, ok := w.inv.Host(hop.Host); ok { // the inventory has made sure of it
		h.SSH.Bastion = nil
		if b, err = w.target(h); err != nil {
			return b, err
		}
		if hop.Port != 0 {
			b.Port = hop.Port
		}
	}
	if hop.User != "" && hop.User != b.User {
		b.User, b.Password = hop.User, ""
	}
	if w.credentials != nil {
		if b.Password, err = w.credentials.hopPassword(b.Host, hop, b.Password); err != nil {
			return b, err
		}
	}
	if hop.Key != "" {
		b.Keys = []string{hop.Key}
	}
	return b, nil
}
