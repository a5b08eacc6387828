package inuse

import (
	"context"
	"slices"
	"strings"

	"deployer/cluster/compare"
	"deployer/tasks/control/kube"
)

// calicoAPI is the path of Calico's kinds.
const calicoAPI = "/apis/crd.projectcalico.org/v1/"

// userKinds are the kinds of Calico whose objects users write, by their names in paths. Those that
// deployer or Calico have written are left out by their label or name.
var userKinds = []struct{ path, kind string }{
	{"networkpolicies", "NetworkPolicy of Calico"}, {"globalnetworkpolicies", "GlobalNetworkPolicy"},
	{"hostendpoints", "HostEndpoint"}, {"networksets", "NetworkSet"}, {"globalnetworksets", "GlobalNetworkSet"},
	{"bgppeers", "BGPPeer"}, {"bgpfilters", "BGPFilter"},
}

// listed is a list of objects, as far as their names are of interest.
type listed struct {
	Items []struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Spec struct {
			CIDR        string
			Affinity    string
			Allocations []*int
		}
	}
}

// readCalico fills in Calico's blocks, and the policies and other objects that end with Calico. The pools
// count as unknown when one of these cannot be read.
func readCalico(ctx context.Context, client *kube.Client, found *compare.InUse) {
	var blocks, policies listed
	if read(ctx, client, calicoAPI+"ipamblocks", &blocks) != nil || read(ctx, client, "/apis/networking.k8s.io/v1/networkpolicies", &policies) != nil {
		found.Pools = nil
		return
	}
	for _, o := range blocks.Items {
		used := 0
		for _, a := range o.Spec.Allocations {
			if a != nil {
				used++
			}
		}
		found.Blocks = append(found.Blocks, compare.BlockInUse{CIDR: o.Spec.CIDR, Node: strings.TrimPrefix(o.Spec.Affinity, "host:"), Used: used})
	}
	found.Policies = append(found.Policies, names("NetworkPolicy", policies)...)
	for _, k := range userKinds {
		var all listed
		if read(ctx, client, calicoAPI+k.path, &all) != nil {
			found.Pools = nil
			return
		}
		found.Policies = append(found.Policies, names(k.kind, all)...)
	}
}

// names returns the objects of a list that deployer has not written, sorted.
func names(kind string, all listed) []string {
	var out []string
	for _, o := range all.Items {
		if o.Metadata.Labels["app.kubernetes.io/managed-by"] == kube.Manager {
			continue
		}
		name := o.Metadata.Name
		if o.Metadata.Namespace != "" {
			name = o.Metadata.Namespace + "/" + name
		}
		out = append(out, kind+" "+name)
	}
	slices.Sort(out)
	return out
}
