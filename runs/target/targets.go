package target

import (
	"fmt"

	"deployer/engine/transport/ssh"
	"deployer/inventory"
	"deployer/project"
)

// Targets are the SSH targets of the hosts of an inventory: its settings, completed by
// OpenSSH's client configuration.
type Targets struct {
	inv         *inventory.Inventory
	credentials *Credentials                 // nil when no host is dialled
	configs     map[string]*ssh.ClientConfig // by path
	byHost      map[string]ssh.Target
}

// NewTargets computes the target of every host without the network. With nil
// credentials targets have no passwords and can only be shown. Its errors are
// *project.UserError.
func NewTargets(inv *inventory.Inventory, c *Credentials) (*Targets, error) {
	ts := &Targets{inv: inv, credentials: c, configs: map[string]*ssh.ClientConfig{}, byHost: map[string]ssh.Target{}}
	for _, h := range inv.Hosts {
		if ts.configs[h.SSH.Config] == nil {
			cfg, err := ssh.ReadClientConfig(h.SSH.Config)
			if err != nil {
				return nil, project.AsUserError(err)
			}
			ts.configs[h.SSH.Config] = cfg
		}
		t, err := ts.target(h)
		if err != nil {
			return nil, project.AsUserError(err)
		}
		if t, err = ts.configs[h.SSH.Config].Apply(t); err != nil {
			return nil, project.AsUserError(fmt.Errorf("SSH settings of host %s: %w", h.Name, err))
		}
		ts.byHost[h.Name] = t
	}
	return ts, nil
}

// Target returns the target of a host.
func (ts *Targets) Target(host string) ssh.Target { return ts.byHost[host] }

// OpenSSH returns the settings of the client configuration that apply to a host.
func (ts *Targets) OpenSSH(h inventory.Host) ([]ssh.Setting, error) {
	t, err := ts.target(h)
	if err != nil {
		return nil, err
	}
	return ts.configs[h.SSH.Config].Explain(t)
}

// target returns the target of a host from the inventory alone.
func (ts *Targets) target(h inventory.Host) (t ssh.Target, err error) {
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
	if ts.credentials != nil {
		if t.Password, err = ts.credentials.loginPassword(h); err != nil {
			return t, err
		}
	}
	if h.SSH.Bastion != nil {
		t.Bastions = []ssh.Target{}
	}
	for _, hop := range h.SSH.Bastion {
		b, err := ts.bastion(t, hop)
		if err != nil {
			return t, err
		}
		t.Bastions = append(t.Bastions, b)
	}
	return t, nil
}

// bastion returns the target of a bastion: the settings of the host behind it, or of
// the inventory's host that hop names, overridden by those of hop. A bastion with
// another user does not inherit the password.
func (ts *Targets) bastion(behind ssh.Target, hop inventory.Hop) (b ssh.Target, err error) {
	b = behind
	b.Bastions = nil
	b.Host, b.Address, b.Port = "bastion "+hop.Address, hop.Address, hop.Port
	if h, ok := ts.inv.Host(hop.Host); ok { // inventory.Load has checked the name
		h.SSH.Bastion = nil
		if b, err = ts.target(h); err != nil {
			return b, err
		}
		if hop.Port != 0 {
			b.Port = hop.Port
		}
	}
	if hop.User != "" && hop.User != b.User {
		b.User, b.Password = hop.User, ""
	}
	if ts.credentials != nil {
		if b.Password, err = ts.credentials.hopPassword(b.Host, hop, b.Password); err != nil {
			return b, err
		}
	}
	if hop.Key != "" {
		b.Keys = []string{hop.Key}
	}
	return b, nil
}
