package plan

import (
	"sync"

	"deployer/engine"
)

// Enforcer computes what each step of a run may do to stay within a plan. Enforcer is safe
// for concurrent use.
type Enforcer struct {
	plan  *Plan
	hosts map[string]*progress
}

// progress is the position of one host in the plan.
type progress struct {
	mu        sync.Mutex
	host      Host
	steps     map[string]int // step -> change
	unbounded bool
}

// NewEnforcer returns the enforcer of a plan.
func NewEnforcer(p *Plan) *Enforcer {
	e := &Enforcer{plan: p, hosts: map[string]*progress{}}
	for _, h := range p.Hosts {
		steps := map[string]int{}
		for _, at := range h.Changes {
			steps[p.Changes[at].Step] = at
		}
		e.hosts[h.Name] = &progress{host: h, steps: steps}
	}
	return e
}

// Expected returns what a step of a host may do; nil means anything. The steps of a host
// must be queried in order, because steps after an unbounded one may do anything.
func (e *Enforcer) Expected(host, step string) *engine.Expect {
	h := e.hosts[host]
	if h == nil {
		return &engine.Expect{} // a host that the plan does not have
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at, planned := h.steps[step]
	was := h.unbounded
	if planned && h.host.UnboundedFrom != nil && *h.host.UnboundedFrom == at {
		h.unbounded = true
	}
	if !planned {
		if was {
			return nil
		}
		return &engine.Expect{}
	}
	_, loose := h.host.Inexact[at]
	return e.plan.Changes[at].expect(loose)
}

func (c Change) expect(loose bool) *engine.Expect {
	if c.Unknown != "" {
		return nil
	}
	x := &engine.Expect{}
	for i, effect := range c.Effects {
		if loose || effect.Redacted || effect.Secret {
			x.Targets = append(x.Targets, effect.KindAndTarget())
		} else {
			x.Effects = append(x.Effects, c.Fingerprints[i])
		}
	}
	return x
}
