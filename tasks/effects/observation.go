package effects

import "deployer/tasks/staticpod"

// Observation is the state of a node, as far as the rules need it.
type Observation struct {
	// Pods are deployer's static pods.
	Pods []StaticPod
	// Manifests are all files that the kubelet reads.
	Manifests []staticpod.ManifestFile
	// CNI are the files of which containerd uses the first.
	CNI []CNIFile
	// RulesError is the reason why the table with the rules for pods is not there; empty when it
	// is.
	RulesError string
	// ServiceRulesMissing is true when the rules of kube-proxy are not loaded.
	ServiceRulesMissing bool
	// Settings are the kernel settings of all files that are read at a boot, in that order.
	Settings []Setting
	// Live are the values of the wanted settings now; without those that the kernel does not
	// have.
	Live map[string]string
	// Servers are the name servers that the kubelet gives to pods that use the host's.
	Servers []string
	// MissingServersFile is the path of the file that the kubelet takes them from, when it does
	// not exist; empty when it does.
	MissingServersFile string
	// PodServers are the name servers with which the pods of cluster DNS on the host have
	// started, by pod.
	PodServers map[string][]string
	// CacheUsers are the pods that started with a DNS cache that the inventory has no more.
	CacheUsers []string
	// Egress is the way of pods out of the cluster; nil when nothing was tried.
	Egress *Egress
	// Routers are the wanted sessions with routers outside of the cluster.
	Routers []Router
}

// StaticPod is one of deployer's static pods.
type StaticPod struct {
	File    string // name of its manifest
	Problem string // empty when the kubelet runs it as the manifest says
}

// CNIFile is a file in the directory of CNI configurations.
type CNIFile struct {
	Name string
	Type string // type of its first plugin; empty when it has none
}

// Setting is a line of a file with kernel settings.
type Setting struct {
	File       string // path
	Key, Value string
}
