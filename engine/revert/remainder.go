package revert

import (
	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// emitRemainder restores changes that no task of the program stands for, and ends
// the revert on the hosts.
func (b *builder) emitRemainder() {
	b.open(&program.Play{Hosts: "all"}, "other changes of run "+b.Run, nil)
	v := engine.Revert{Run: b.Run, Force: b.Force}
	rest, strays := map[string]bool(nil), map[string]bool{}
	if !b.history.all {
		rest, strays = map[string]bool{}, b.history.unattributed
		for host := range b.history.hosts {
			if !strays[host] {
				rest[host] = true
			}
		}
	}
	for _, s := range []struct {
		only     map[string]bool
		throttle *lang.Expr
	}{{rest, nil}, {strays, lang.Number(1)}} {
		if s.only != nil && len(s.only) == 0 {
			continue
		}
		name := &program.Task{Name: "other changes of run " + b.Run}
		t, err := name.Replacing(v.ID(), engine.RevertModule, v)
		if err != nil {
			b.err = err
			return
		}
		t.OnlyHosts, t.Throttle = s.only, s.throttle
		b.task(t)
	}
	b.close()
}
