package cluster

import (
	"path"
	"slices"
	"strings"
)

// The kinds of hostPath volumes that static pods read configuration from.
const (
	mountFile      = "File"
	mountDirectory = "Directory"
)

// Mount is a file or directory of the host that a static pod reads at the same
// path. The kubelet binds a file by its inode: a container sees a file that was
// replaced only after a restart, so the content of these files belongs in the
// manifest's hash. A directory shows what is replaced in it at once.
type Mount struct {
	Name string `json:"name"` // name of the volume
	Path string `json:"path"` // path on the host and in the container
	Type string `json:"type"` // type of the hostPath volume: File or Directory
}

// Mounts are those of each static pod on this host, below /etc/kubernetes; empty
// for components that do not run there.
type Mounts struct {
	APIServer         []Mount `json:"apiserver"`          // mounts of kube-apiserver
	ControllerManager []Mount `json:"controller_manager"` // mounts of kube-controller-manager
	Scheduler         []Mount `json:"scheduler"`          // mounts of kube-scheduler
	KubeProxy         []Mount `json:"kube_proxy"`         // mounts of kube-proxy
	CalicoNode        []Mount `json:"calico_node"`        // mounts of calico-node
	CalicoTypha       []Mount `json:"calico_typha"`       // mounts of Typha
}

// mounts are those of all static pods of a node that has its flags, configuration
// and kubeconfigs.
func mounts(c *Cluster, n Node) Mounts {
	// kube-proxy's flags name its configuration, which names the kubeconfig.
	proxy := n.Args.KubeProxy
	if file, ok := section(n.KubeProxyConfig, "clientConnection")["kubeconfig"].(string); ok {
		proxy = append(slices.Clone(proxy), "="+file)
	}
	return Mounts{
		APIServer:         mountsOf(n.Args.APIServer, n.Kubeconfigs, dirAPIServer, dirAPIServerPKI),
		ControllerManager: mountsOf(n.Args.ControllerManager, n.Kubeconfigs, dirControllerManagerPKI),
		Scheduler:         mountsOf(n.Args.Scheduler, n.Kubeconfigs, dirSchedulerPKI),
		KubeProxy:         mountsOf(proxy, n.Kubeconfigs, dirKubeProxyPKI),
		CalicoNode:        mountsOfCalicoNode(c, n),
		CalicoTypha:       mountsOfKubeconfig("calico-typha", n.Kubeconfigs, dirCalicoTyphaPKI),
	}
}

// mountsOf returns the mounts of a component, sorted by path: every file below
// /etc/kubernetes that its flags name, also those of extra_args, and the
// certificates that its kubeconfigs name. Directories in own hold only files of the component
// and are mounted whole instead.
func mountsOf(args []string, kubeconfigs []Kubeconfig, own ...string) []Mount {
	var paths []string
	for _, arg := range args {
		_, value, _ := strings.Cut(arg, "=")
		for _, part := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' }) {
			if file := path.Clean(part); strings.HasPrefix(file, dirKubernetes+"/") {
				paths = append(paths, file)
			}
		}
	}
	for _, k := range kubeconfigs {
		if slices.Contains(paths, k.Path) {
			paths = append(paths, k.CAPath, k.CertPath, k.KeyPath)
		}
	}
	slices.Sort(paths)
	out := []Mount{}
	for _, file := range slices.Compact(paths) {
		mount := Mount{Path: file, Type: mountFile}
		for _, dir := range own {
			if file == dir || strings.HasPrefix(file, dir+"/") {
				mount = Mount{Path: dir, Type: mountDirectory}
			}
		}
		mount.Name = volumeName(mount.Path)
		if !slices.Contains(out, mount) {
			out = append(out, mount)
		}
	}
	return out
}

// mountsOfKubeconfig returns the mounts of a component that is configured by its environment: its
// kubeconfig with the certificates. It returns none when the host does not have it.
func mountsOfKubeconfig(component string, kubeconfigs []Kubeconfig, own string) []Mount {
	file := dirKubernetes + "/" + component + ".conf"
	if !slices.ContainsFunc(kubeconfigs, func(k Kubeconfig) bool { return k.Path == file }) {
		return []Mount{}
	}
	return mountsOf([]string{"=" + file}, kubeconfigs, own)
}

// mountsOfCalicoNode returns the mounts of calico-node: its kubeconfig with the certificates, and the
// authority of its etcd.
func mountsOfCalicoNode(c *Cluster, n Node) []Mount {
	out := mountsOfKubeconfig("calico-node", n.Kubeconfigs, dirCalicoNodePKI)
	if len(out) > 0 && c.EtcdCalico != nil {
		out = append(out, Mount{Name: volumeName(CAPath(AuthorityEtcdCalico)), Path: CAPath(AuthorityEtcdCalico), Type: mountFile})
	}
	return out
}

// volumeName makes a name of a path: small letters, digits and dashes, at most 63
// characters as Kubernetes wants it. The end of a path is more distinctive than its start.
func volumeName(file string) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimPrefix(file, "/etc/")))
	return strings.Trim(name[max(0, len(name)-63):], "-")
}
