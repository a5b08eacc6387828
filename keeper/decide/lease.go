package decide

import "deployer/keeper/world"

// Renew returns the nodes whose Lease the keeper renews in place of their kubelets: those in
// maintenance whose hosts answer. Kubernetes takes a node as alive while its Lease is renewed, so its
// pods stay. A kubelet that runs renews it, too, which does no harm. A host that does not answer gets
// no help: when it is dead, its pods must go elsewhere.
func Renew(w world.World) []world.Node {
	var out []world.Node
	for _, n := range w.Nodes {
		if n.Maintenance.Active(w.Now) && n.Ready != world.False && n.Reach == world.Answers {
			out = append(out, n)
		}
	}
	return out
}
