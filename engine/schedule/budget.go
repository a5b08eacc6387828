package schedule

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"deployer/engine/program"
	"deployer/limit"
	"deployer/shortlist"
)

// maxNamed is the maximum number of hosts that a text of the scheduler names.
const maxNamed = 5

// budget counts the lost hosts of each group against the failure budget. budget does not count
// cancelled hosts, because their cause counts, and hosts that were down before the run.
type budget struct {
	mu      sync.Mutex
	base    map[string]limit.Limit
	members map[string]map[string]bool // group -> targeted hosts
	lost    map[string]bool
}

func newBudget(r *run) (*budget, error) {
	b := &budget{base: map[string]limit.Limit{}, members: map[string]map[string]bool{}, lost: map[string]bool{}}
	for _, g := range r.opts.ProtectedGroups {
		b.base[g] = limit.Limit{}
	}
	maps.Copy(b.base, r.opts.Budget)
	groups := map[string]bool{}
	for _, g := range slices.Collect(maps.Keys(b.base)) {
		groups[g] = true
	}
	for _, p := range r.prog.Plays {
		for g := range p.MaxFail {
			groups[g] = true
		}
	}
	for g := range groups {
		hosts, err := r.opts.Match(g)
		if err != nil {
			if _, asked := r.opts.Budget[g]; !asked && slices.Contains(r.opts.ProtectedGroups, g) {
				continue // the inventory lacks the group
			}
			return nil, fmt.Errorf("max_fail: group %q: %w", g, err)
		}
		b.members[g] = map[string]bool{}
		for _, name := range hosts {
			if h := r.byName[name]; h != nil && r.takesPart(h) && !h.missing() {
				b.members[g][name] = true
			}
		}
	}
	return b, nil
}

// lose counts a host as lost in play p. The error says which budget is exceeded.
func (b *budget) lose(host string, p *program.Play) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost[host] = true
	return b.exceeded(p)
}

// check returns an error when the lost hosts exceed the budget of play p.
func (b *budget) check(p *program.Play) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exceeded(p)
}

func (b *budget) exceeded(p *program.Play) error {
	limits := maps.Clone(b.base)
	if p != nil {
		maps.Copy(limits, p.MaxFail)
	}
	for _, g := range slices.Sorted(maps.Keys(limits)) {
		members := b.members[g]
		var gone []string
		for h := range members {
			if b.lost[h] {
				gone = append(gone, h)
			}
		}
		allowed := limits[g].Of(len(members))
		if len(gone) > allowed {
			slices.Sort(gone)
			return fmt.Errorf("too many hosts of %q failed: %d of %d (%s), allowed are %d",
				g, len(gone), len(members), shortlist.Names(gone, maxNamed), allowed)
		}
	}
	return nil
}
