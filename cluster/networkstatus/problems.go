package networkstatus

import (
	"fmt"

	"deployer/cluster"
)

// problemsOf reports the problems of a node.
func (m *comparison) problemsOf(node string) {
	switch m.state[node] {
	case down:
		m.report(checkHost, node, fmt.Sprintf("bring the host back, or remove it: deployer scale-down %s --dead", node), "%s%s", m.found.Failures[node].Reason, m.impacts[node])
		return
	case unread:
		m.report(checkHost, node, "", "it could not be examined: %s", m.found.Failures[node].Reason)
		return
	case absent:
		m.report(checkNode, node, "run deployer scale-up", "the host is not in the cluster%s", m.impacts[node])
		return
	case birdless:
		m.report(checkBIRD, node, m.birdFix(node), "%s%s", m.found.Hosts[node].BIRDError, m.impacts[node])
	case works:
		m.sessionProblems(node)
		m.routeProblems(node)
	}
	m.cniProblems(node)
}

// birdFix returns the advice for a BIRD that does not run.
func (m *comparison) birdFix(node string) string {
	if m.cluster.Network.Plugin == cluster.PluginCalico {
		return fmt.Sprintf("run deployer apply; its log is in /var/log/pods/kube-system_calico-node-%s_*/ on the host", node)
	}
	return "run deployer apply; its log on the host: journalctl -u deployer-bird.service"
}

// cniFiles are deployer's network configurations by plugin.
var cniFiles = map[string]string{cluster.PluginBGP: "10-deployer.conflist", cluster.PluginCalico: "10-calico.conflist"}

// cniProblems reports a network configuration that is not the plugin's.
func (m *comparison) cniProblems(node string) {
	found, want := m.found.Hosts[node].CNI.File, cniFiles[m.cluster.Network.Plugin]
	known, _ := m.found.Objects.Node(node)
	switch {
	case want == "" && found == "":
		m.report(checkCNI, node, "apply the manifests of your pod network: cluster.network.plugin is none", "/etc/cni/net.d has no configuration, so pods get no network")
	case want == "" && known.LacksNetwork:
		m.report(checkCNI, node, "look at the pods of your network on the node", "the kubelet has no network, though /etc/cni/net.d has %s", found)
	case want == "" || found == want:
	case found == "":
		m.report(checkCNI, node, applyFix, "/etc/cni/net.d has no configuration, so pods get no network")
	default:
		m.report(checkCNI, node, "remove the file when its network is not in use", "containerd uses /etc/cni/net.d/%s instead of %s", found, want)
	}
}
