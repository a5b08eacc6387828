package cluster

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// basicNode returns the settings of a host that do not depend on other hosts.
func (r *resolver) basicNode(h Host, t Routes) Node {
	n := Node{
		Name:            h.Name,
		Address:         h.Address,
		IP:              h.ip().String(),
		IPs:             h.addresses(r.spec.families()),
		ExternalAddress: externalAddress(h),
		IsMaster:        h.has(RoleMaster),
		IsMinion:        h.has(RoleMinion),
		IsEtcd:          slices.Contains(r.place.etcd, h.Name),
		IsProxy:         h.has(RoleProxy),
		IsNode:          h.isNode(),
		Labels:          map[string]string{},
		Taints:          []Taint{},
		BGP:             BGP{Peers: []Peer{}, Routers: []Router{}, Advertised: []string{}},
		LocalAPI:        r.out.API.Local,
		Etcd:            LocalEtcd{Dirs: []string{}},
		Roles:           []string{},
		Args:            emptyArgs(),
		Mounts:          Mounts{APIServer: []Mount{}, ControllerManager: []Mount{}, Scheduler: []Mount{}, KubeProxy: []Mount{}, CalicoNode: []Mount{}, CalicoTypha: []Mount{}},
		Images:          []Image{},
	}
	n.RunsAPIServer = n.IsMaster
	n.RunsKubeProxy = n.IsNode && r.spec.KubeProxy.Mode != KubeProxyNone
	n.RunsCalico = n.IsNode && r.spec.Network.Plugin == PluginCalico
	n.RunsTypha = slices.Contains(r.out.Network.Calico.Typha, h.Name)
	n.RunsLocalProxy = n.IsNode && !n.IsMaster
	n.RunsExternalProxy = n.IsProxy
	n.RunsProxyPod = n.IsNode && (n.RunsLocalProxy || n.RunsExternalProxy)
	n.RunsNodeDNS = n.IsNode && r.spec.DNS.NodeLocal.Enabled
	n.RunsProxyUnit = n.RunsExternalProxy && !n.IsNode
	n.RenewsCertificates = r.out.Keeper.NodeCertificates && n.IsNode && !n.IsMaster // masters have the authority
	n.RunsFirewall = r.spec.Network.HostFirewall.Enabled && (n.IsEtcd || n.IsNode)
	n.ProxyListen, n.ProxyExternal = r.proxyListen(n), r.proxyExternal(n, r.spec.Proxy.Port)
	virtual := r.out.API.VirtualIP
	n.RunsKeepalived, n.RunsWitness, n.VirtualPriority = isIn(virtual.Holders, h.Name), isIn(virtual.Witnesses, h.Name), r.virtualPriority(h.Name)
	if n.RunsExternalProxy {
		n.ProxyVirtual = virtual.HostPort
	}
	n.ProxyTLS = r.nodeTLS(n)
	n.Roles = rolesOf(n)
	if n.IsEtcd {
		n.Etcd = *memberOn(n, portEtcdClient, portEtcdPeer)
		n.EtcdEvents, n.EtcdCalico = r.eventsMember(n), r.calicoMember(n)
	}
	if n.IsNode {
		n.Labels = r.labels(h, n)
		n.Taints = r.taints(h)
		n.BGP = t.node(h.Name, r.spec.Network.ASN)
		r.addRouters(h, &n)
	}
	n.Versions = nodeVersions(r.out.Versions, n, mergeLayers(r.spec.Overrides, h.Overrides))
	return n
}

// fullNode adds the settings that depend on the whole cluster.
func (r *resolver) fullNode(h Host, n Node) Node {
	over := mergeLayers(r.spec.Overrides, h.Overrides)
	n.KubeletConfig, n.KubeProxyConfig, n.Containerd = map[string]any{}, map[string]any{}, map[string]any{}
	n.APIServerFiles = []ConfigFile{}
	if n.RunsAPIServer {
		n.APIServerFiles = r.apiServerFiles()
		n.Args.APIServer = r.apiServerArgs(n, section(over, componentAPIServer))
		n.Args.ControllerManager = flags(r.controllerManagerFlags(), section(over, componentControllerManager))
		n.Args.Scheduler = flags(r.schedulerFlags(), section(over, componentScheduler))
	}
	if n.IsEtcd {
		n.Etcd.Dirs, n.Etcd.LogDir, n.Args.Etcd = etcdDirs(flags(r.etcdFlags(n), section(over, componentEtcd)))
		r.addEvents(&n)
		r.addCalicoEtcd(&n)
	}
	if n.IsNode {
		kubelet := section(over, componentKubelet)
		n.KubeletConfig = merge(r.kubeletConfig(n), withoutKeys(kubelet, extraArgs, versionKey))
		n.Args.Kubelet = flags(kubeletFlags(n), kubelet)
		n.Containerd = r.containerdConfig(n, section(over, componentContainerd))
	}
	if n.RunsKubeProxy {
		proxy := section(over, componentKubeProxy)
		n.KubeProxyConfig = merge(r.kubeProxyConfig(n), withoutKeys(proxy, extraArgs, versionKey))
		n.Args.KubeProxy = flags(kubeProxyFlags(), proxy)
	}
	r.checkOverrides(h, n, over)
	n.Certificates = Certificates(r.out, n.Name)
	n.Authorities = authorityCertificates(r.out, n)
	n.FormerFiles = formerFiles(n.Certificates)
	n.Kubeconfigs = Kubeconfigs(r.out, n.Name)
	n.Mounts = mounts(r.out, n)
	n.Images = r.images(n)
	n.FirstImages = firstImages(n.Images)
	n.Owned = OwnedDirs(r.out, n)
	n.Packages = r.packages(n)
	n.Requirements = Requirements(r.out, n)
	n.Units, n.Health, n.Effects = unitsOf(r.out, n), healthOf(r.out, n), effectsOf(r.out, n)
	return n
}

// proxyListen returns the listening addresses of a host's proxy: loopback for the node
// itself, the host's addresses for clients outside.
func (r *resolver) proxyListen(n Node) []string {
	out := []string{}
	if n.RunsLocalProxy {
		out = append(out, hostPort(localAddress, r.spec.API.Port))
	}
	if n.RunsExternalProxy {
		for _, ip := range n.IPs {
			out = append(out, hostPort(ip, r.spec.Proxy.Port))
		}
	}
	return out
}

// proxyExternal returns the listening address of a host's proxy at a port of the external address. Whether
// the host has that address, or another machine translates it, only a run can know.
func (r *resolver) proxyExternal(n Node, port int) string {
	if _, err := netip.ParseAddr(n.ExternalAddress); err != nil || !n.RunsExternalProxy || n.ExternalAddress == n.IP {
		return ""
	}
	return hostPort(n.ExternalAddress, port)
}

func rolesOf(n Node) []string {
	out := []string{}
	for _, role := range []struct {
		name string
		has  bool
	}{
		{RoleMaster, n.IsMaster}, {RoleMinion, n.IsMinion}, {RoleEtcd, n.IsEtcd},
		{RoleProxy, n.IsProxy}, {RoleNode, n.IsNode},
	} {
		if role.has {
			out = append(out, role.name)
		}
	}
	return out
}

// labels returns the user's labels and those by which Kubernetes recognizes masters
// (kubernetes.io/docs/reference/labels-annotations-taints). The second one keeps load
// balancers of cloud integrations off masters without ordinary pods.
func (r *resolver) labels(h Host, n Node) map[string]string {
	out := map[string]string{}
	if n.IsMaster {
		out[controlPlane] = ""
		if r.place.taintsMaster(h) {
			out[excludedLabel] = ""
		}
	}
	maps.Copy(out, h.Labels)
	return out
}

// controlPlane is the label and the key of the taint of masters.
const controlPlane = "node-role.kubernetes.io/control-plane"

func (r *resolver) taints(h Host) []Taint {
	out := []Taint{}
	own := Taint{Key: controlPlane, Effect: "NoSchedule"}
	for _, text := range h.Taints {
		t, _ := parseTaint(text)
		out = append(out, t)
	}
	// A node has one taint of a key and an effect: the user's.
	if r.place.taintsMaster(h) && !slices.ContainsFunc(out, func(t Taint) bool { return t.Key == own.Key && t.Effect == own.Effect }) {
		out = append([]Taint{own}, out...)
	}
	return out
}

// parseTaint parses key=value:Effect or key:Effect.
func parseTaint(text string) (Taint, bool) {
	body, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(body, "=")
	known := slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect)
	return Taint{Key: key, Value: value, Effect: effect}, ok && known && key != ""
}

func emptyArgs() Args {
	return Args{
		APIServer: []string{}, ControllerManager: []string{}, Scheduler: []string{},
		Etcd: []string{}, Kubelet: []string{}, KubeProxy: []string{},
	}
}

// images returns the images of a host's static pods.
func (r *resolver) images(n Node) []Image {
	out := []Image{}
	if !n.IsNode {
		return out
	}
	v := r.out.Versions
	if n.RunsAPIServer {
		out = append(out, Image{"kube-apiserver", n.Versions.APIServer},
			Image{"kube-controller-manager", n.Versions.ControllerManager}, Image{"kube-scheduler", n.Versions.Scheduler})
	}
	if n.RunsKubeProxy {
		out = append(out, Image{"kube-proxy", n.Versions.KubeProxy})
	}
	out = append(out, calicoImages(n, v.Calico)...)
	out = append(out, Image{"pause", v.Pause})
	if n.RunsProxyPod {
		version := v.Nginx
		if r.spec.Proxy.Kind == ProxyHAProxy {
			version = v.HAProxy
		}
		out = append(out, Image{r.spec.Proxy.Kind, version})
	}
	if n.RunsNodeDNS {
		out = append(out, Image{"coredns", v.CoreDNS})
	}
	return out
}

// firstImages leaves out the images of pods that need an API server.
func firstImages(images []Image) []Image {
	waits := []string{"kube-controller-manager", "kube-scheduler", "kube-proxy", "calico-node", "calico-cni", "calico-typha"}
	return slices.DeleteFunc(slices.Clone(images), func(i Image) bool { return slices.Contains(waits, i.Name) })
}
