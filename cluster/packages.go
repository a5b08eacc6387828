package cluster

// packageNames are the host packages of a component, by the values of facts.os_family.
type packageNames struct{ debian, redhat, suse []string }

// The names are those of packages.debian.org (bookworm, trixie) and
// packages.ubuntu.com; of src.fedoraproject.org for RHEL 9 and its rebuilds; and
// of software.opensuse.org for Leap 15.6. On RHEL iptables is a name that
// iptables-nft provides, and bird comes from EPEL.
var (
	// The programs that kubelet, kube-proxy and the network plugins call: conntrack,
	// iptables, nft, ip, mount, and nsenter.
	nodePackages = packageNames{
		debian: []string{"conntrack", "iptables", "nftables", "iproute2", "mount", "util-linux"},
		redhat: []string{"conntrack-tools", "iptables", "nftables", "iproute", "util-linux"},
		suse:   []string{"conntrack-tools", "iptables", "nftables", "iproute2", "util-linux"},
	}
	firewallPackages = packageNames{debian: []string{"nftables"}, redhat: []string{"nftables"}, suse: []string{"nftables"}}
	birdPackages     = packageNames{debian: []string{"bird2"}, redhat: []string{"bird"}, suse: []string{"bird"}}
	// keepalived runs bash with a program of deployer's own.
	keepalivedPackages = packageNames{debian: []string{"keepalived"}, redhat: []string{"keepalived"}, suse: []string{"keepalived"}}
	curlPackages       = packageNames{debian: []string{"curl"}, redhat: []string{"curl"}, suse: []string{"curl"}}
	haproxyPackages    = packageNames{debian: []string{"haproxy"}, redhat: []string{"haproxy"}, suse: []string{"haproxy"}}
	nginxPackages      = packageNames{
		debian: []string{"nginx", "libnginx-mod-stream"},
		redhat: []string{"nginx", "nginx-mod-stream"},
		suse:   []string{"nginx"},
	}
)

// packages lists the host packages of a host for each family: those of a node,
// BIRD for the routes, nft for the packet filter, keepalived and HAProxy for the virtual address, curl for copies of backups in an object store, and the proxy
// itself when no kubelet can run it.
func (r *resolver) packages(n Node) map[string][]string {
	var wanted []packageNames
	if n.IsNode {
		wanted = append(wanted, nodePackages)
		if r.spec.Network.Plugin == PluginBGP {
			wanted = append(wanted, birdPackages)
		}
	}
	if n.RunsFirewall && !n.IsNode {
		wanted = append(wanted, firewallPackages)
	}
	if n.IsEtcd && r.spec.Etcd.Backup.url() != "" {
		wanted = append(wanted, curlPackages)
	}
	if n.RunsKeepalived {
		wanted = append(wanted, keepalivedPackages)
	}
	if n.RunsWitness && !(n.RunsProxyUnit && r.spec.Proxy.Kind == ProxyHAProxy) {
		wanted = append(wanted, haproxyPackages)
	}
	if n.RunsProxyUnit {
		if r.spec.Proxy.Kind == ProxyHAProxy {
			wanted = append(wanted, haproxyPackages)
		} else {
			wanted = append(wanted, nginxPackages)
		}
	}
	out := map[string][]string{"debian": {}, "redhat": {}, "suse": {}}
	for _, w := range wanted {
		out["debian"] = append(out["debian"], w.debian...)
		out["redhat"] = append(out["redhat"], w.redhat...)
		out["suse"] = append(out["suse"], w.suse...)
	}
	return out
}
