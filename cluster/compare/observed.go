package compare

import "deployer/cluster"

// Observed is the state of a cluster as a survey of its hosts has found it.
type Observed struct {
	// Hosts has one entry for each surveyed host.
	Hosts map[string]Host
	// Etcd is the running etcd cluster; nil when no member answers.
	Etcd *cluster.EtcdLive
	// EtcdError is the reason why no member answers; empty when one does.
	EtcdError string
	// Nodes are the Node objects; nil when no API server answers.
	Nodes []Node
	// APIError is the reason why no API server answers; empty when one does.
	APIError string
	// Problems are failed checks of what no run repairs.
	Problems []Broken
}

// Host is the result of a survey of one host.
type Host struct {
	Failure          string // reason why the host could not be examined; empty when it was
	HasKubelet       bool   // true when the configuration of a kubelet exists
	HasEtcdData      bool   // true when the data directory of a member exists
	EtcdPeerURL      string // peer URL in the unit of etcd, read while no member answers; empty when it is unknown
	HasAPIServer     bool   // true when the manifest of an API server exists, which is written only after etcd was healthy
	HoldsAuthorities bool   // true when the key of the cluster's authority exists
	RestoringEtcd    bool   // true when a restore or readdress of etcd was interrupted while it replaced data
	HasProxyUnit     bool   // true when the unit of the proxy for clients outside of the cluster exists
	// Versions are the components that the host has, without those whose version is not
	// known.
	Versions []cluster.Running
	// Broken are the components of the host that fail their checks.
	Broken []Broken
}

// Node is a Node object.
type Node struct {
	Name   string
	Ready  bool
	Reason string // reason and message of the condition Ready
	// LacksNetwork is true when the pod network is all that the node lacks to be Ready.
	LacksNetwork bool
	Version      string // version of the kubelet, such as v1.36.3
	Cordoned     bool
	// CordonedBy is the run of deployer that has cordoned the node; empty when another user
	// has.
	CordonedBy string
}

// Broken is a component that does not work.
type Broken struct {
	Host      string `json:"host"`      // empty for the cluster as a whole
	Component string `json:"component"` // host, etcd, node, or the name of a check
	Detail    string `json:"detail"`
	Fix       string `json:"fix,omitempty"` // advice
}
