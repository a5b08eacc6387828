package cluster

import "cmp"

// versionKey is the key of a component's overrides that holds its version.
const versionKey = "version"

// NodeVersions is the releases of the components on one host; empty for components that
// do not run there. The releases differ from the versions of the cluster where `overrides` of the
// cluster, a group or the host name a version, as in a cluster that is upgraded in
// parts.
type NodeVersions struct {
	APIServer         string `json:"apiserver"`          // version of kube-apiserver and kubectl
	ControllerManager string `json:"controller_manager"` // version of kube-controller-manager
	Scheduler         string `json:"scheduler"`          // version of kube-scheduler
	Kubelet           string `json:"kubelet"`            // version of the kubelet
	KubeProxy         string `json:"kube_proxy"`         // version of kube-proxy
	Containerd        string `json:"containerd"`         // version of containerd, its shim and ctr
	Etcd              string `json:"etcd"`               // version of etcd, etcdctl and etcdutl
}

// nodeVersions returns the versions of a host: the versions of the cluster, unless the
// merged overrides of the host name others.
func nodeVersions(all VersionSet, n Node, over map[string]any) NodeVersions {
	of := func(runs bool, component, version string) string {
		if !runs {
			return ""
		}
		own, _ := section(over, component)[versionKey].(string)
		return cmp.Or(own, version)
	}
	return NodeVersions{
		APIServer:         of(n.RunsAPIServer, componentAPIServer, all.Kubernetes),
		ControllerManager: of(n.RunsAPIServer, componentControllerManager, all.Kubernetes),
		Scheduler:         of(n.RunsAPIServer, componentScheduler, all.Kubernetes),
		Kubelet:           of(n.IsNode, componentKubelet, all.Kubernetes),
		KubeProxy:         of(n.RunsKubeProxy, componentKubeProxy, all.Kubernetes),
		Containerd:        of(n.IsNode, componentContainerd, all.Containerd),
		Etcd:              of(n.IsEtcd, componentEtcd, all.Etcd),
	}
}

// componentVersion is the version of one component with the names of the component: its
// key in overrides, and that of the program.
type componentVersion struct{ key, program, version string }

// list returns the versions of the components that the host runs, in the order in which
// an upgrade changes them.
func (v NodeVersions) list() []componentVersion {
	var out []componentVersion
	for _, c := range []componentVersion{
		{componentEtcd, "etcd", v.Etcd},
		{componentAPIServer, "kube-apiserver", v.APIServer},
		{componentControllerManager, "kube-controller-manager", v.ControllerManager},
		{componentScheduler, "kube-scheduler", v.Scheduler},
		{componentContainerd, "containerd", v.Containerd},
		{componentKubelet, "kubelet", v.Kubelet},
		{componentKubeProxy, "kube-proxy", v.KubeProxy},
	} {
		if c.version != "" {
			out = append(out, c)
		}
	}
	return out
}

// componentKey returns the key in overrides of a program; "" for other programs.
func componentKey(program string) string {
	every := NodeVersions{"-", "-", "-", "-", "-", "-", "-"}
	for _, c := range every.list() {
		if c.program == program {
			return c.key
		}
	}
	return ""
}

// Programs returns the wanted version of each component on the host by the name of its
// program, such as kube-apiserver or containerd.
func (v NodeVersions) Programs() map[string]string {
	out := map[string]string{}
	for _, c := range v.list() {
		out[c.program] = c.version
	}
	return out
}
