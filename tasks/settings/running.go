// Package settings has the module that reads under which names, and with which settings of
// the cluster, the components of a host run.
package settings

import (
	"context"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"deployer/engine"
)

// Running reads the names and settings from the files that deployer has written, and changes
// nothing. A program that is not installed has empty values.
type Running struct{}

var _ engine.Module = (*Running)(nil)

// ReadOnly is true.
func (*Running) ReadOnly() bool { return true }

// The files with the names and settings.
const (
	kubeletUnit   = "/etc/systemd/system/kubelet.service"
	etcdUnit      = "/etc/systemd/system/etcd.service"
	kubeletConfig = "/var/lib/kubelet/config.yaml"
	apiServer     = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	cniConfig     = "/etc/cni/net.d/10-deployer.conflist"
	birdConfig    = "/etc/deployer/bird.conf"
	keepalived    = "/etc/deployer/keepalived.conf"
	formerPlugin  = "/etc/deployer/former-network-plugin" // while the plugin of the node changes
	calicoAccess  = "/etc/kubernetes/calico-node.conf"
	calicoPod     = "/etc/kubernetes/manifests/calico-node.yaml"
	proxyAccess   = "/etc/kubernetes/kube-proxy.conf"
)

// proxyConfigs are the configurations of the API proxy that deployer writes, for the pod of a node
// and for the unit of another host, by the program that reads them.
var proxyConfigs = map[string][]string{
	"haproxy": {"/etc/kubernetes/proxy/haproxy.conf", "/etc/deployer/haproxy.conf"},
	"nginx":   {"/etc/kubernetes/proxy/nginx.conf", "/etc/deployer/nginx.conf"},
}

// maxFile is the size up to which a file is read. deployer writes a few KiB.
const maxFile = 1 << 20

// The values in the files. None of them matches longer texts than a name of a host, an address
// or a URL of the cluster can be.
var (
	nodeName     = regexp.MustCompile(`--hostname-override=([A-Za-z0-9.-]{1,253})`)
	memberName   = regexp.MustCompile(`--name=([A-Za-z0-9.-]{1,253})`)
	domain       = regexp.MustCompile(`(?m)^clusterDomain: *["']?([A-Za-z0-9.-]{1,253})`)
	serviceRange = regexp.MustCompile(`--service-cluster-ip-range=([0-9a-fA-F.:/,]{1,200})`)
	issuer       = regexp.MustCompile(`--service-account-issuer=https://kubernetes\.default\.svc\.([A-Za-z0-9.-]{1,253})`)
	maxPods      = regexp.MustCompile(`(?m)^maxPods: *([0-9]{1,9})$`)
	virtual      = regexp.MustCompile(`(?m)^ +([0-9a-f.:]+)/[0-9]+ dev `)
	calicoTag    = regexp.MustCompile(`(?m)^ *image: *["']?[^\s"'@]{1,500}:(v[0-9][A-Za-z0-9.+-]{0,63})`)
	calicoStore  = regexp.MustCompile(`DATASTORE_TYPE, value: (kubernetes|etcd)`)
	podPlugin    = regexp.MustCompile(`"type": *"(bridge|ptp)"`)
)

// Check reads. The output has node, the name of the host's node; member, the name of its etcd
// member; domain, the domain of the names of Services that the kubelet gives to pods;
// max_pods, the kubelet's maximum number of pods; service_cidr, the range of the API server;
// issuer_domain, the domain in the issuer of the API server's tokens; network_plugin, the plugin of
// the host's node; kube_proxy, runs when the node has a kube-proxy and none otherwise; api_proxy, the
// program of the API proxy, nginx or haproxy; cni, the plugin that connects pods;
// calico_version, the tag of the images of calico-node; calico_datastore, where it has its objects,
// kubernetes or etcd; and virtual_ips, the virtual addresses of the API
// that the host may have.
func (*Running) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	server, kubelet := read(sys, apiServer), read(sys, kubeletConfig)
	node := find(nodeName, read(sys, kubeletUnit))
	isNode := node != "" && kubelet != ""
	return engine.NoChange(engine.Output{
		"node":             node,
		"member":           find(memberName, read(sys, etcdUnit)),
		"domain":           find(domain, kubelet),
		"max_pods":         find(maxPods, kubelet),
		"service_cidr":     find(serviceRange, server),
		"issuer_domain":    find(issuer, server),
		"cni":              find(podPlugin, read(sys, cniConfig)),
		"network_plugin":   plugin(sys, isNode),
		"kube_proxy":       kubeProxy(sys, isNode),
		"api_proxy":        apiProxy(sys),
		"calico_version":   find(calicoTag, read(sys, calicoPod)),
		"calico_datastore": find(calicoStore, read(sys, calicoPod)),
		"virtual_ips":      virtualIPs(read(sys, keepalived)),
	}), nil
}

// plugin returns the network plugin with which deployer has made the host a node: the former one
// while it changes, bgp has a configuration of BIRD, calico a kubeconfig of Calico, none has no file of
// its own. It is empty on a host without a kubelet. These files are there when the kubelet is installed.
func plugin(sys engine.System, isNode bool) string {
	former := strings.TrimSpace(read(sys, formerPlugin))
	switch {
	case !isNode:
		return ""
	case former == "calico":
		return former
	case former != "":
		return "bgp"
	case read(sys, birdConfig) != "" || read(sys, cniConfig) != "":
		return "bgp"
	case read(sys, calicoAccess) != "":
		return "calico"
	}
	return "none"
}

// Apply is never needed.
func (*Running) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// read returns the begin of a file; empty when it cannot be read.
func read(sys engine.System, path string) string {
	f, err := os.Open(sys.Path(path))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(text)
}

// find returns the first group of a pattern's first match; empty without one. Of a flag that is
// given several times, it is the first value, which the API server uses for new tokens.
func find(pattern *regexp.Regexp, text string) string {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.TrimSuffix(m[1], ".")
}

// virtualIPs returns the addresses in a configuration of keepalived.
func virtualIPs(config string) []any {
	out := []any{}
	for _, m := range virtual.FindAllStringSubmatch(config, -1) {
		out = append(out, m[1])
	}
	return out
}

// kubeProxy returns whether the node has a kube-proxy: runs or none; empty on a host that is no
// node. A host gets the kubeconfigs of its components before it becomes a node.
func kubeProxy(sys engine.System, isNode bool) string {
	switch {
	case !isNode:
		return ""
	case read(sys, proxyAccess) != "":
		return "runs"
	}
	return "none"
}

// apiProxy returns the program of the host's API proxy; empty on a host without one, and on one with
// the configurations of both, whose program is being changed.
func apiProxy(sys engine.System) string {
	found := ""
	for program, paths := range proxyConfigs {
		if !slices.ContainsFunc(paths, func(path string) bool { return read(sys, path) != "" }) {
			continue
		}
		if found != "" {
			return ""
		}
		found = program
	}
	return found
}
