package decide

import (
	"fmt"

	"deployer/cluster"
	"deployer/keeper/world"
)

// ScaleOf returns the objects that get another number of replicas, or a patch, by the number of Ready
// nodes.
func ScaleOf(policies []cluster.ScalePolicySpec, w world.World) (d Decision) {
	ready := 0
	for _, n := range w.Nodes {
		if n.Ready == world.True {
			ready++
		}
	}
	for i, s := range policies {
		if ready < s.ReadyNodes || i >= len(w.Scaled) {
			continue
		}
		for _, o := range w.Scaled[i] {
			object := Object{o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID}
			if len(s.Patch) > 0 && !o.Patched {
				d.do(Action{Kind: Patch, Object: object, Policy: i, Why: counted(ready, "node") + " are Ready"})
			}
			want := min(max(ready, s.Min), s.Max)
			if s.Max == 0 || o.Replicas < 0 || want == o.Replicas || want < o.Replicas && !s.Shrink {
				continue
			}
			d.do(Action{Kind: Scale, Object: object, Replicas: want, Policy: i, Why: fmt.Sprintf("%s are Ready: %d replicas instead of %d", counted(ready, "node"), want, o.Replicas)})
		}
	}
	return d
}
