package componentconfig

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-proxy/config/v1alpha1"
)

// kubeProxy checks kube-proxy's configuration by the rules of kube-proxy, which exits at
// its start when one is broken: kubernetes pkg/proxy/apis/config/validation/validation.go. Defaults are
// those of pkg/proxy/apis/config/v1alpha1/defaults.go; 0 means the default.
func (k *checker) kubeProxy(value map[string]any) {
	var c v1alpha1.KubeProxyConfiguration
	if !k.decode(value, &c) {
		return
	}
	k.choices([]choice{
		{"mode", string(c.Mode), []string{"iptables", "nftables", "ipvs"}},
		{"detectLocalMode", string(c.DetectLocalMode), []string{"ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix"}},
		{"logging.format", c.Logging.Format, []string{"text", "json"}},
	})
	k.numbers([]number{
		{"oomScoreAdj", pointed(c.OOMScoreAdj, -999), -1000, 1000},
		{"iptables.masqueradeBit", pointed(c.IPTables.MasqueradeBit, 14), 0, 31},
		{"nftables.masqueradeBit", pointed(c.NFTables.MasqueradeBit, 14), 0, 31},
		{"conntrack.maxPerCore", pointed(c.Conntrack.MaxPerCore, 32768), 0, unbounded},
		{"conntrack.min", pointed(c.Conntrack.Min, 131072), 0, unbounded},
		{"clientConnection.burst", int64(c.ClientConnection.Burst), 0, unbounded},
	})
	times := map[string]v1.Duration{
		"configSyncPeriod": c.ConfigSyncPeriod, "conntrack.udpTimeout": c.Conntrack.UDPTimeout, "conntrack.udpStreamTimeout": c.Conntrack.UDPStreamTimeout,
		"iptables.syncPeriod": c.IPTables.SyncPeriod, "iptables.minSyncPeriod": c.IPTables.MinSyncPeriod,
		"nftables.syncPeriod": c.NFTables.SyncPeriod, "nftables.minSyncPeriod": c.NFTables.MinSyncPeriod,
		"ipvs.tcpTimeout": c.IPVS.TCPTimeout, "ipvs.tcpFinTimeout": c.IPVS.TCPFinTimeout, "ipvs.udpTimeout": c.IPVS.UDPTimeout,
	}
	for key, d := range map[string]*v1.Duration{"conntrack.tcpEstablishedTimeout": c.Conntrack.TCPEstablishedTimeout, "conntrack.tcpCloseWaitTimeout": c.Conntrack.TCPCloseWaitTimeout} {
		if d != nil {
			times[key] = *d
		}
	}
	k.notNegative(times)
	for _, mode := range []string{"iptables", "nftables"} {
		if low, high := times[mode+".minSyncPeriod"].Duration, times[mode+".syncPeriod"].Duration; high > 0 && low > high {
			k.add([]string{mode, "minSyncPeriod"}, "%s is more than syncPeriod, %s", low, high)
		}
	}
	k.address("bindAddress", c.BindAddress)
	k.addressPort("healthzBindAddress", c.HealthzBindAddress)
	k.addressPort("metricsBindAddress", c.MetricsBindAddress)
	if !slices.Equal(c.NodePortAddresses, []string{"primary"}) {
		k.ranges("nodePortAddresses", c.NodePortAddresses)
	}
	if c.ClusterCIDR != "" {
		k.ranges("clusterCIDR", strings.Split(c.ClusterCIDR, ","))
	}
	k.ranges("ipvs.excludeCIDRs", c.IPVS.ExcludeCIDRs)
}
