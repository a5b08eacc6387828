package calico

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/cluster"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

const (
	apiVersion = datastore.APIVersion
	// reflectorLabel is the label of a reflector, whose value is its name.
	reflectorLabel = "deployer/reflector"
	// canaryLabel is the label of the node whose sessions get changed settings before all others.
	canaryLabel = "deployer/bgp-canary"
	// clientPrefix is the prefix of the labels of a reflector's clients, whose name follows.
	clientPrefix = "reflector.deployer/"
	managedLabel = "app.kubernetes.io/managed-by"
)

func kindOf(kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// bgpConfiguration returns the BGPConfiguration default. Ranges of Services that the inventory does not
// announce are left to the user.
func bgpConfiguration(n cluster.Network, mesh bool, settings sessionSettings) *unstructured.Unstructured {
	spec := map[string]any{"asNumber": int64(n.ASN), "nodeToNodeMeshEnabled": mesh, "logSeverityScreen": "Info"}
	if mesh {
		settings.set(spec, true)
	}
	for field, ranges := range map[string][]string{"serviceClusterIPs": n.Advertise.ClusterIPs, "serviceExternalIPs": n.Advertise.ExternalIPs, "serviceLoadBalancerIPs": n.Advertise.LoadBalancerIPs} {
		var cidrs []any
		for _, cidr := range ranges {
			cidrs = append(cidrs, map[string]any{"cidr": cidr})
		}
		if len(cidrs) > 0 {
			spec[field] = cidrs
		}
	}
	return object("BGPConfiguration", "default", spec)
}

// bgpPeer returns a BGPPeer of deployer by its name. Calico makes the sessions of both ends of it. The
// canary has those of [canaryPeer] instead.
func bgpPeer(name string, settings sessionSettings) *unstructured.Unstructured {
	nodes, peers := "all()", "has("+reflectorLabel+")"
	switch reflector, clients := strings.CutPrefix(name, cluster.PeerClients("")); {
	case clients:
		nodes = "has(" + clientPrefix + reflector + ") && !has(" + canaryLabel + ")"
		peers = reflectorLabel + " == '" + reflector + "'"
	case name == cluster.PeerReflectors:
		nodes = "has(" + reflectorLabel + ") && !has(" + canaryLabel + ")"
		peers = nodes
	}
	return peerObject(name, nodes, peers, settings)
}

// canaryPeer returns the BGPPeer between the canary and all nodes that it has sessions with: in a mesh the
// others, else the reflectors.
func canaryPeer(mesh bool, settings sessionSettings) *unstructured.Unstructured {
	peers := "!has(" + canaryLabel + ")"
	if !mesh {
		peers = "has(" + reflectorLabel + ") && " + peers
	}
	return peerObject(cluster.PeerCanary, "has("+canaryLabel+")", peers, settings)
}

func peerObject(name, nodes, peers string, settings sessionSettings) *unstructured.Unstructured {
	spec := map[string]any{"nodeSelector": nodes, "peerSelector": peers}
	settings.set(spec, false)
	return object("BGPPeer", name, spec)
}

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{managedLabel: kube.Manager}},
		"spec":     spec,
	}}
}

// nodePatch returns the JSON merge patch that gives a node its place in the sessions, nil when it
// has it. The cluster ID and the label of a reflector come in one patch, so that the node has its
// new sessions when it has left the mesh. A nil reflector, canary, clients or routers is left as it is.
func nodePatch(annotations, labels map[string]string, node cluster.Node, reflector, canary *bool, clients []string, routers map[string]string) map[string]any {
	newLabels, newAnnotations := map[string]any{}, map[string]any{}
	set := func(patch map[string]any, have map[string]string, key, value string, wanted bool) {
		old, ok := have[key]
		switch {
		case wanted && old != value:
			patch[key] = value
		case !wanted && ok:
			patch[key] = nil
		}
	}
	if reflector != nil {
		set(newAnnotations, annotations, datastore.ClusterID, node.BGP.RouterID, *reflector)
		set(newLabels, labels, reflectorLabel, node.Name, *reflector)
	}
	if canary != nil {
		set(newLabels, labels, canaryLabel, "true", *canary)
	}
	if clients != nil {
		for _, r := range clients {
			set(newLabels, labels, clientPrefix+r, "true", true)
		}
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if name, ok := strings.CutPrefix(key, clientPrefix); ok && !slices.Contains(clients, name) {
				set(newLabels, labels, key, "", false)
			}
		}
	}
	if routers != nil {
		for key, value := range routers {
			set(newLabels, labels, key, value, true)
		}
		for key := range routerLabels(labels) {
			if _, wanted := routers[key]; !wanted {
				set(newLabels, labels, key, "", false)
			}
		}
	}
	metadata := map[string]any{}
	if len(newLabels) > 0 {
		metadata["labels"] = newLabels
	}
	if len(newAnnotations) > 0 {
		metadata["annotations"] = newAnnotations
	}
	if len(metadata) == 0 {
		return nil
	}
	return map[string]any{"metadata": metadata}
}
