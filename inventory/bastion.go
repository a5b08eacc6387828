package inventory

import (
	"slices"

	"deployer/strictyaml"
)

// resolveBastions completes the hops: a hop that names a host gets its address and
// login, and unset fields get the values of the host behind the hop.
func (b *builder) resolveBastions() {
	names := b.inv.Names()
	for i := range b.inv.Hosts {
		h := &b.inv.Hosts[i]
		// A host that is a bastion of all hosts is reached directly, or through the hops before
		// it.
		if self := slices.IndexFunc(h.SSH.Bastion, func(hop Hop) bool { return hop.Host == h.Name }); self >= 0 {
			h.SSH.Bastion = h.SSH.Bastion[:self]
		}
		for j := range h.SSH.Bastion {
			b.completeHop(&h.SSH.Bastion[j], h, names)
		}
	}
}

func (b *builder) completeHop(hop *Hop, h *Host, names []string) {
	if hop.Host != "" {
		via, ok := b.inv.Host(hop.Host)
		if !ok {
			b.errorf(b.at(hop.pos), "bastion: there is no host %q%s", hop.Host, strictyaml.DidYouMean(hop.Host, names))
			return
		}
		hop.Address = via.Address
		hop.fill(via.SSH)
	}
	login := h.SSH
	login.Port = 0 // the port of the host behind is not that of its bastion
	hop.fill(login)
}

// fill sets the unset fields of the hop.
func (hop *Hop) fill(from SSH) {
	if hop.User == "" {
		hop.User = from.User
	}
	if hop.Key == "" {
		hop.Key, hop.KeyPassphraseEnv = from.Key, from.KeyPassphraseEnv
	}
	if hop.Port == 0 {
		hop.Port = from.Port
	}
}
