package decide

import (
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// settled is the time after its start in which a pod has the first status of ContainersReady: a later
// change says that its containers were ready.
const settled = 10 * time.Second

// Stuck returns the pods with a container that was ready and has not been for a time.
func Stuck(settings []cluster.StuckContainerSpec, w world.World) (d Decision) {
	for i, s := range settings {
		if i >= len(w.Watched) {
			break
		}
		for _, p := range w.Watched[i] {
			ready, has := p.Containers[s.Container]
			wasReady := p.ReadySince.Sub(p.Started) > settled
			if !has || ready || !p.Running || !p.Deleted.IsZero() || p.ContainersReady != world.False || !wasReady || w.Now.Sub(p.ReadySince) < s.For {
				continue
			}
			d.do(Action{Kind: Delete, Object: podObject(p), Why: "container " + s.Container + " was ready and has not been for " + short(w.Now.Sub(p.ReadySince))})
		}
	}
	return d
}
