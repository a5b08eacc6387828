package cluster

import "time"

// KeeperSpec is the `cluster.keeper:` section.
type KeeperSpec struct {
	Enabled  *bool         `yaml:"enabled" default:"true" doc:"Whether each master runs the keeper, a program that repairs the cluster between runs of deployer. Programs and units of the keeper are removed when this becomes false."`
	DryRun   bool          `yaml:"dry_run" default:"false" doc:"Whether the keeper only says what it would do: in its status, its journal and as events of Kubernetes."`
	Interval time.Duration `yaml:"interval" default:"15s" doc:"Time between two passes of the keeper."`

	Clear           KeeperClearSpec      `yaml:"clear" doc:"Pods of nodes that are gone."`
	Fence           KeeperFenceSpec      `yaml:"fence" doc:"Machines of nodes that are gone, which are switched off so that others get their volumes."`
	Purge           KeeperPurgeSpec      `yaml:"purge" doc:"Nodes that are gone for good."`
	PostAdd         []KeeperHookSpec     `yaml:"post_add" doc:"Hooks for a node that has joined and is Ready, such as one that adds its disks to a storage cluster: once for each Node, not for nodes that there were before the first hook was set. When one fails, all are repeated after 5 minutes, then later and later, at most an hour apart. A hook must accept a node that it has had before."`
	StuckContainers []StuckContainerSpec `yaml:"stuck_containers" doc:"Pods that are deleted when a container of theirs does not become ready again."`
	Scale           []ScalePolicySpec    `yaml:"scale" doc:"Replicas of objects by the number of Ready nodes, such as a database that is highly available from three nodes on."`
	Etcd            KeeperEtcdSpec       `yaml:"etcd" doc:"Care for the etcd cluster."`
	Reboots         KeeperRebootsSpec    `yaml:"reboots" doc:"What a host does with its node while it shuts down or reboots."`

	Certificates KeeperCertificatesSpec `yaml:"certificates" doc:"Certificates of the hosts, which are renewed without a run."`

	// Files with rules for the maintenance of nodes.
	Profiles    string `yaml:"profiles" doc:"File with maintenance profiles, relative to the inventory, as maintenance-controller has them. Default: none."`
	Replacement string `yaml:"replacement" doc:"File with the settings of the replacement of nodes, relative to the inventory. Default: none."`

	MetricsAddress string `yaml:"metrics_address" default:"127.0.0.1:10275" doc:"Address and port of the keeper's metrics for Prometheus and of /healthz, without encryption or authentication."`
}

// KeeperClearSpec is the `cluster.keeper.clear:` section. Its default times are those of EKCO
// (github.com/replicatedhq/ekco, node_unreachable_toleration and its clear of dead nodes).
type KeeperClearSpec struct {
	Enabled        *bool         `yaml:"enabled" default:"true" doc:"Whether pods that end on a node that is gone are force-deleted, so that others take their place. The host of the node must not answer: the pods of a host that answers may run."`
	UnknownFor     time.Duration `yaml:"unknown_for" default:"5m" doc:"Time for which the condition Ready of the node has been Unknown."`
	TerminatingFor time.Duration `yaml:"terminating_for" default:"30s" doc:"Time since the deletion of the pod; pods that nobody has deleted stay."`
}

// KeeperFenceSpec is the `cluster.keeper.fence:` section.
type KeeperFenceSpec struct {
	Hooks      []KeeperHookSpec `yaml:"hooks" doc:"Hooks that switch off the machine of a node that is gone, such as by its management controller; they must end only when it is off, and accept one that is off already. Then the Node gets taint node.kubernetes.io/out-of-service, with which Kubernetes deletes its pods and detaches their volumes at once. The keeper removes the taint when the node is Ready again. Default: none, and no node gets the taint."`
	UnknownFor time.Duration    `yaml:"unknown_for" default:"5m" doc:"Time for which the condition Ready of the node has been Unknown; more than a reboot takes. Its host must not answer."`
	MaxPerHour *int             `yaml:"max_per_hour" default:"3" doc:"Greatest number of machines whose hooks run in an hour: more that seem to be dead are rather a failure of the network."`
}

// KeeperPurgeSpec is the `cluster.keeper.purge:` section.
type KeeperPurgeSpec struct {
	Enabled         bool             `yaml:"enabled" default:"false" doc:"Whether a node that is gone leaves the cluster: its member of etcd is removed, and then its Node. One node leaves at a time, never while the keeper reaches no majority of the nodes."`
	UnreachableFor  time.Duration    `yaml:"unreachable_for" default:"1h" doc:"Time for which the condition Ready of the node has been Unknown."`
	MinReadyMasters *int             `yaml:"min_ready_masters" default:"2" doc:"Number of Ready masters below which no node leaves."`
	MinReadyMinions int              `yaml:"min_ready_minions" default:"0" doc:"Number of Ready minions below which no node leaves."`
	PreRemove       []KeeperHookSpec `yaml:"pre_remove" doc:"Hooks before anything of the node is removed, such as one that takes its disks out of a storage cluster. When one fails, the node stays."`
	PostRemove      []KeeperHookSpec `yaml:"post_remove" doc:"Hooks after the node has left."`
}

// KeeperHookSpec is a hook of the keeper: a command on the master or an HTTP request from it.
type KeeperHookSpec struct {
	Name    string        `yaml:"name" required:"true" doc:"Name in reports."`
	Command []string      `yaml:"command" doc:"Program on the masters with arguments, without a shell; exit code 0 is success. It has the variables DEPLOYER_NODE, DEPLOYER_ADDRESS, DEPLOYER_CLUSTER and DEPLOYER_PHASE."`
	URL     string        `yaml:"url" doc:"HTTP or HTTPS address that gets a POST with the JSON object node, address, cluster, phase; a status from 200 to 299 is success."`
	Timeout time.Duration `yaml:"timeout" default:"5m" doc:"Maximum duration; after it the hook has failed."`
}

// StuckContainerSpec is one of `cluster.keeper.stuck_containers`.
type StuckContainerSpec struct {
	Namespace string        `yaml:"namespace" required:"true" doc:"Namespace of the pods."`
	Selector  string        `yaml:"selector" required:"true" doc:"Selector of their labels, as kubectl get -l takes it."`
	Container string        `yaml:"container" required:"true" doc:"Name of the container."`
	For       time.Duration `yaml:"for" default:"5m" doc:"Time for which the container has not been ready in a pod that was ready before."`
}

// ScalePolicySpec is one of `cluster.keeper.scale`.
type ScalePolicySpec struct {
	APIVersion string `yaml:"api_version" default:"apps/v1" doc:"Version of the kind."`
	Kind       string `yaml:"kind" required:"true" doc:"Kind of the objects, such as Deployment."`
	Namespace  string `yaml:"namespace" required:"true" doc:"Namespace of the objects."`
	Selector   string `yaml:"selector" required:"true" doc:"Selector of their labels, as kubectl get -l takes it."`
	// Nodes from which on the policy has an effect.
	ReadyNodes int            `yaml:"ready_nodes" default:"1" doc:"Number of Ready nodes from which on the policy has an effect."`
	Min        int            `yaml:"min" default:"1" doc:"Least number of replicas."`
	Max        int            `yaml:"max" doc:"Greatest number of replicas: objects get as many as there are Ready nodes, from min to max. Default: the replicas stay."`
	Patch      map[string]any `yaml:"patch" doc:"JSON merge patch for the objects, applied when they differ from it."`
	Shrink     bool           `yaml:"shrink" default:"false" doc:"Whether objects may get fewer replicas when nodes are not Ready."`
}

// KeeperEtcdSpec is the `cluster.keeper.etcd:` section.
type KeeperEtcdSpec struct {
	Defragment *bool `yaml:"defragment" default:"true" doc:"Whether members whose file has at least 100 MiB, of which 45 % hold no data, are defragmented: one at a time, the leader last, 36 s apart."`
	FreeSpace  *bool `yaml:"free_space" default:"true" doc:"Whether a full database (alarm NOSPACE), in which nothing can be written, is compacted and defragmented, and its alarm disarmed when it is smaller than its quota."`

	Replace      *bool         `yaml:"replace" default:"false" doc:"Whether a member on a master that has lost its data, or that somebody removed, becomes a new member: a learner first, one at a time, while all others serve. What is left of its data is kept in before-rejoin-TIME."`
	ReplaceAfter time.Duration `yaml:"replace_after" default:"10m" doc:"Time for which the data or the membership has been lost before the member is replaced."`

	BackupMaxAge time.Duration `yaml:"backup_max_age" default:"48h" doc:"Age of the newest scheduled snapshot from which on the keeper reports that backups are too old. Set more for a rarer cluster.etcd.backup.schedule than daily."`
}

// KeeperCertificatesSpec is the `cluster.keeper.certificates:` section.
type KeeperCertificatesSpec struct {
	Renew *bool `yaml:"renew" default:"true" doc:"Whether the keeper of each master renews what this host uses when less than cluster.certificates.renew_before is left, one master after the other, each with the proof of deployer certs renew. Keys stay on their host. Certificates of external authorities stay as they are."`
	Nodes *bool `yaml:"nodes" default:"true" doc:"Whether each node that is no master renews its own certificates by requests that the leading keeper approves by rule. It has no effect without the keeper, or when authority cluster is external."`
}

// KeeperRebootsSpec is the `cluster.keeper.reboots:` section. It needs no keeper: each node acts for
// itself.
//
// A pod has 30 s to end by default (terminationGracePeriodSeconds), so that in 2 min four pods of one
// PodDisruptionBudget can leave in turn. A kubelet reports its volumes in use every 10 s
// (nodeStatusUpdateFrequency), and the unmounting of a volume of a CSI driver has 2 min in Kubernetes,
// of which it mostly needs seconds.
type KeeperRebootsSpec struct {
	Enabled        bool          `yaml:"enabled" default:"false" doc:"Whether each node has unit deployer-reboot.service: while the machine shuts down it cordons its node, evicts pods with volumes of PersistentVolumeClaims and waits until these are unmounted; after the boot it uncordons what it has cordoned. It does not depend on cluster.keeper.enabled."`
	EvictTimeout   time.Duration `yaml:"evict_timeout" default:"2m" doc:"Maximum time for the evictions, within PodDisruptionBudgets, and the ends of these pods; after it the shutdown goes on."`
	UnmountTimeout time.Duration `yaml:"unmount_timeout" default:"1m" doc:"Maximum time for their volumes to be unmounted afterwards."`
}

// WithDefaults returns the settings with the default of each that has none.
func (k KeeperSpec) WithDefaults() KeeperSpec {
	duration := func(d *time.Duration, byDefault time.Duration) {
		if *d == 0 {
			*d = byDefault
		}
	}
	k.Enabled = orTrue(k.Enabled)
	duration(&k.Interval, 15*time.Second)
	k.Clear.Enabled = orTrue(k.Clear.Enabled)
	duration(&k.Clear.UnknownFor, 5*time.Minute)
	duration(&k.Clear.TerminatingFor, 30*time.Second)
	duration(&k.Fence.UnknownFor, 5*time.Minute)
	if k.Fence.MaxPerHour == nil {
		k.Fence.MaxPerHour = new(3)
	}
	if len(k.Fence.Hooks) > 0 {
		k.Fence.Hooks = hooksWithDefaults(k.Fence.Hooks)
	}
	duration(&k.Purge.UnreachableFor, time.Hour)
	if k.Purge.MinReadyMasters == nil {
		k.Purge.MinReadyMasters = new(2)
	}
	k.Purge.PreRemove, k.Purge.PostRemove = hooksWithDefaults(k.Purge.PreRemove), hooksWithDefaults(k.Purge.PostRemove)
	duration(&k.Reboots.EvictTimeout, 2*time.Minute)
	duration(&k.Reboots.UnmountTimeout, time.Minute)
	if len(k.PostAdd) > 0 {
		k.PostAdd = hooksWithDefaults(k.PostAdd)
	}
	k.StuckContainers = append([]StuckContainerSpec{}, k.StuckContainers...)
	for i := range k.StuckContainers {
		duration(&k.StuckContainers[i].For, 5*time.Minute)
	}
	k.Scale = append([]ScalePolicySpec{}, k.Scale...)
	for i := range k.Scale {
		s := &k.Scale[i]
		if s.APIVersion == "" {
			s.APIVersion = "apps/v1"
		}
		s.ReadyNodes, s.Min = max(s.ReadyNodes, 1), max(s.Min, 1)
	}
	k.Etcd.Defragment, k.Etcd.FreeSpace = orTrue(k.Etcd.Defragment), orTrue(k.Etcd.FreeSpace)
	if k.Etcd.Replace == nil {
		k.Etcd.Replace = new(bool)
	}
	duration(&k.Etcd.ReplaceAfter, 10*time.Minute)
	duration(&k.Etcd.BackupMaxAge, 48*time.Hour)
	k.Certificates.Renew, k.Certificates.Nodes = orTrue(k.Certificates.Renew), orTrue(k.Certificates.Nodes)
	if k.MetricsAddress == "" {
		k.MetricsAddress = "127.0.0.1:10275"
	}
	return k
}

func hooksWithDefaults(hooks []KeeperHookSpec) []KeeperHookSpec {
	out := append([]KeeperHookSpec{}, hooks...)
	for i := range out {
		if out[i].Timeout == 0 {
			out[i].Timeout = defaultHookTimeout
		}
	}
	return out
}
