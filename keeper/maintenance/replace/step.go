package replace

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// Keys of nodes. The labels are maintenance-controller's.
const (
	// UpdateLabel is "true" on nodes whose kubelet has another version than the API server, and "false" on others.
	UpdateLabel = "cloud.sap/kubelet-needs-update"
	// DeleteLabel marks nodes to replace, with the value "true".
	DeleteLabel = "cloud.sap/delete-node"
	// Annotation marks nodes whose replacement has begun, with a [mark].
	Annotation = "deployer/replacing"
)

// mark is the content of [Annotation].
type mark struct {
	Since time.Time `json:"since"`
	// Cordoned is true when the replacement has cordoned the node; false when it was cordoned before.
	Cordoned bool `json:"cordoned"`
}

// needsUpdate reports whether a kubelet has another version than the API server, older or newer. Build metadata after
// a + do not count.
func needsUpdate(kubelet, server string) (bool, error) {
	k, err := version.ParseSemantic(kubelet)
	if err != nil {
		return false, fmt.Errorf("the kubelet's version: %w", err)
	}
	s, err := version.ParseSemantic(server)
	if err != nil {
		return false, fmt.Errorf("the API server's version: %w", err)
	}
	return k.LessThan(s) || s.LessThan(k), nil
}

// action is what happens to a node in a pass.
type action int

const (
	keep    action = iota // nothing
	begin                 // cordon the node and mark it, if a lease is free
	proceed               // drain the node; when that is done, run the hook and delete the Node
	cancel                // the label was removed: undo the cordon
	refuse                // the node cannot be replaced
)

// controlPlane is the label of masters.
const controlPlane = "node-role.kubernetes.io/control-plane"

// decide returns the action for a node, with the content of its mark. why is the reason of a refusal.
func decide(node *corev1.Node, hooked bool) (a action, m mark, why error) {
	text, marked := node.Annotations[Annotation]
	if marked {
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.Since.IsZero() {
			return refuse, m, fmt.Errorf("annotation %s is not readable; remove it to begin the replacement anew", Annotation)
		}
	}
	wanted := node.Labels[DeleteLabel] == "true"
	_, master := node.Labels[controlPlane]
	switch {
	case !wanted && !marked:
		return keep, m, nil
	case !wanted:
		return cancel, m, nil
	case master:
		return refuse, m, fmt.Errorf("label %s is on a master, which may be a member of etcd: remove it from the inventory and run deployer instead", DeleteLabel)
	case !hooked:
		return refuse, m, fmt.Errorf("label %s is set, but the file has no hook under replace, so nothing would replace the machine", DeleteLabel)
	case !marked:
		return begin, m, nil
	}
	return proceed, m, nil
}

func (m mark) text() string {
	out, err := json.Marshal(m)
	if err != nil {
		return "" // a year after 9999
	}
	return string(out)
}

// environment returns what the hook learns about a node, as variables.
func environment(node *corev1.Node) []string {
	address := ""
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && address == "" {
			address = a.Address
		}
	}
	clean := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
	return []string{
		"DEPLOYER_HOST=" + node.Name, "DEPLOYER_ADDRESS=" + clean(address), "DEPLOYER_PHASE=replace",
		"DEPLOYER_NODE_UID=" + string(node.UID), "DEPLOYER_PROVIDER_ID=" + clean(node.Spec.ProviderID), "DEPLOYER_MACHINE_ID=" + clean(node.Status.NodeInfo.MachineID),
	}
}
