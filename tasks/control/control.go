// Package control has the actions, the tasks that run on the controller on behalf of
// hosts: fetching files, keys and signing, membership of etcd, objects of
// Kubernetes, the report of preflight, and verification. Actions reach services only
// through the hosts' SSH connections; hook alone works on the controller itself.
//
// The packages below this one do the work in functions that need no playbook; the
// actions wrap them.
package control

import (
	"deployer/engine"
	"deployer/tasks/control/addon"
	"deployer/tasks/control/calico"
	"deployer/tasks/control/conformance"
	"deployer/tasks/control/departure"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/fetch"
	"deployer/tasks/control/hook"
	"deployer/tasks/control/inuse"
	"deployer/tasks/control/keepers"
	"deployer/tasks/control/keybackup"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kubelet"
	"deployer/tasks/control/leader"
	"deployer/tasks/control/networkobjects"
	"deployer/tasks/control/preflight"
	"deployer/tasks/control/reboot"
	"deployer/tasks/control/requests"
	"deployer/tasks/control/rotation"
	"deployer/tasks/control/routes"
	"deployer/tasks/control/served"
	"deployer/tasks/control/snapshot"
	"deployer/tasks/control/survey"
	"deployer/tasks/control/upgrade"
	"deployer/tasks/control/verify"
	"deployer/tasks/examples"
)

// General returns the actions that need no cluster.
func General() []engine.Kind {
	return examples.In(limited([]engine.Kind{
		{Name: "fetch", Doc: "Copies a file of the host to the controller.", New: func() any { return &fetch.Fetch{} }},
		{Name: "hook", Doc: "Runs a program on the controller, or sends an HTTP request from it, for another system that is involved in work on the host.", New: func() any { return hook.New() }},
		{Name: "reboot", Doc: "Reboots the host and waits until it is back.", New: func() any { return &reboot.Reboot{} }},
	}))
}

// Actions returns the actions that work on a cluster.
func Actions() []engine.Kind {
	return examples.In(limited([]engine.Kind{
		{Name: "preflight_report", Doc: "Collects the results of all hosts' checks, and ends the run with one table when there is any problem.", Internal: true, New: func() any { return preflight.NewReport() }},

		{Name: "departure_report", Doc: "Collects the reasons why hosts must not leave the cluster, and ends the run with one table when there is any.", Internal: true, New: func() any { return &departure.Report{} }},

		{Name: "ca_load", Doc: "Loads the cluster's CA keys from the masters into memory, or creates those of a new cluster.", Internal: true, New: func() any { return &keyring.Load{} }},
		{Name: "key_digests", Doc: "Computes digests of the cluster's key files, so that a component restarts when one of its files changes.", Internal: true, New: func() any { return &keyring.Digests{} }},

		{Name: "certificate_requests", Doc: "Writes requests for certificates of external authorities into a directory of the controller.", Internal: true, New: func() any { return requests.NewWrite() }},
		{Name: "external_authorities", Doc: "Ends the run when a master has another authority than the external one that the inventory names.", Internal: true, New: func() any { return &keyring.ExternalAuthorities{} }},
		{Name: "external_certificates", Doc: "Ends the run when a host needs a certificate that no external authority has issued.", Internal: true, New: func() any { return &requests.Require{} }},

		{Name: "key_backup", Doc: "Encrypts the cluster's keys for a backup, to recipients of age.", Internal: true, New: func() any { return &keybackup.Save{} }},
		{Name: "key_backup_read", Doc: "Decrypts the keys of a backup in memory, for a restore.", Internal: true, New: func() any { return &keybackup.Read{} }},
		{Name: "plugin_change", Doc: "Reports whether the network plugin of a host changes.", Internal: true, New: func() any { return &calico.Change{} }},
		{Name: "snapshot_check", Doc: "Verifies a snapshot of etcd on the controller, and that the cluster's keys belong to it.", Internal: true, New: func() any { return &snapshot.Check{} }},

		{Name: "snapshot_mac", Doc: "Authenticates a snapshot of etcd with a key that only the cluster has.", Internal: true, New: func() any { return &snapshot.Sign{} }},
		{Name: "snapshot_macs", Doc: "Compares the MACs of snapshots of etcd with the key of the cluster.", Internal: true, New: func() any { return &snapshot.Compare{} }},
		{Name: "backup_mac_key", Doc: "Reads the key that authenticates backups, for hosts that save snapshots of etcd by a timer.", Internal: true, New: func() any { return &keyring.ReadBackupKey{} }},

		{Name: "encryption_key", Doc: "Takes the next step in the rotation of the key that encrypts Secrets: a new key, the new key first, the former key dropped.", Internal: true, New: func() any { return rotation.NewKey() }},
		{Name: "encryption_rewrite", Doc: "Writes all objects again that a former key has encrypted in etcd.", Internal: true, New: func() any { return rotation.NewRewrite() }},

		{Name: "ca_rotate", Doc: "Takes the next step in the rotation of certificate authorities: a new one is trusted, it signs, the former one is dropped.", Internal: true, New: func() any { return rotation.NewAuthority() }},
		{Name: "ca_published", Doc: "Waits until the cluster publishes its authorities, and removes the authorities that they have replaced.", Internal: true, New: func() any { return rotation.NewPublished() }},

		{Name: "etcd_plan", Doc: "Decides for each etcd host: start a new cluster, join, replace a lost member, or nothing.", Internal: true, New: func() any { return &etcd.Plan{} }},
		{Name: "etcd_addresses", Doc: "Fails unless etcd is down because its hosts have other addresses than the members know.", Internal: true, New: func() any { return &etcd.Addresses{} }},
		{Name: "etcd_replacement", Doc: "Decides whether a new etcd member may take the place of the host's member.", Internal: true, New: func() any { return &etcd.Replacement{} }},
		{Name: "etcd_add_member", Doc: "Adds the host to a running etcd cluster as etcd_plan decided, and removes the lost member that it replaces.", Internal: true, New: func() any { return etcd.NewAddMember() }},
		{Name: "etcd_remove_member", Doc: "Removes a member from a running etcd cluster when the quorum allows it, and ends when no member lists it.", New: func() any { return etcd.NewRemoveMember() }},
		{Name: "etcd_members", Doc: "Reads the state of each etcd host's member, and selects the best member for a snapshot.", New: func() any { return &etcd.Members{} }},
		{Name: "etcd_newest_snapshot", Doc: "Selects the snapshot with the highest revision of those that etcd hosts saved of their own members.", Internal: true, New: func() any { return &etcd.NewestSnapshot{} }},
		{Name: "etcd_restore_revision", Doc: "Decides by how much a restore of etcd raises the revision of the snapshot.", Internal: true, New: func() any { return &etcd.RestoreRevision{} }},
		{Name: "etcd_defragment", Doc: "Rewrites the database files of etcd members that have much unused space, one member after the other, the leader last.", New: func() any { return etcd.NewDefragment() }},
		{Name: "etcd_may_restart", Doc: "Waits until the other etcd members serve, so that the member of the host may stop; a member that is down may start at any time.", New: func() any { return etcd.NewMayRestart() }},
		{Name: "etcd_users", Doc: "Gives the users of Calico's etcd cluster their rights, and makes its members ask for them.", Internal: true, New: func() any { return &etcd.Users{} }},
		{Name: "etcd_healthy", Doc: "Waits until the host's etcd member serves and belongs to the cluster; promotes a learner that has caught up.", New: func() any { return etcd.NewHealthy() }},

		{Name: "certificates_served", Doc: "Waits until the processes of a host serve the certificates of their files.", New: func() any { return served.NewServed() }},

		{Name: "pod_cidrs", Doc: "Assigns each node its range of pod addresses.", Internal: true, New: func() any { return &kube.PodCIDRs{} }},
		{Name: "pod_mtu", Doc: "Decides which MTU pods get, from the interfaces between the nodes.", Internal: true, New: func() any { return &routes.PodMTU{} }},
		{Name: "bgp_transition", Doc: "Decides how the nodes of a running cluster come to the BGP sessions of the inventory.", Internal: true, New: func() any { return &routes.Transition{} }},
		{Name: "calico_sessions", Doc: "Decides how the nodes of a running cluster with Calico come to the BGP sessions of the inventory.", Internal: true, New: func() any { return &calico.Sessions{} }},
		{Name: "calico_mesh", Doc: "Writes the BGPConfiguration and the BGPPeers of Calico for a stage of a change.", Internal: true, New: func() any { return &calico.Mesh{} }},
		{Name: "calico_apply", Doc: "Writes objects of Calico, such as pools, to the Kubernetes API or to Calico's etcd cluster.", Internal: true, New: func() any { return &calico.Apply{} }},
		{Name: "calico_routers", Doc: "Writes the BGPPeers, BGPFilters and passwords of Calico for the sessions with routers outside of the cluster.", Internal: true, New: func() any { return &calico.Routers{} }},
		{Name: "calico_blocks", Doc: "Gives nodes the blocks of Calico in their ranges of pod addresses, while the network plugin changes.", Internal: true, New: func() any { return &calico.Blocks{} }},
		{Name: "calico_affinities", Doc: "Gives blocks that former versions of Calico have written the type and the labels by which v3.31 finds them.", Internal: true, New: func() any { return &calico.Affinities{} }},
		{Name: "calico_leave", Doc: "Prepares a cluster for the replacement of Calico by the network plugin bgp, and removes the objects of Calico at the end.", Internal: true, New: func() any { return &calico.Leave{} }},
		{Name: "calico_node", Doc: "Gives the node of the host its place in the BGP sessions of Calico: a route reflector, or a client of some.", Internal: true, New: func() any { return &calico.Node{} }},
		{Name: "network_objects", Doc: "Reads the ranges of nodes, and Calico's pools and blocks, from the Kubernetes API.", Internal: true, New: func() any { return &networkobjects.Objects{} }},
		{Name: "kube_ready", Doc: "Waits until a master's API server is ready.", New: func() any { return kube.NewAPIReady() }},
		{Name: "leader_watches", Doc: "Waits until the controller manager, where it leads, watches its API server again after a restart; where that takes long, it ends and another master's leads.", Internal: true, New: func() any { return leader.NewWatch() }},
		{Name: "kube_version", Doc: "Reads the version that the API servers run.", New: func() any { return &kube.Version{} }},
		{Name: "kube_apply", Doc: "Applies Kubernetes objects server-side, and waits for their rollout if wait is set.", New: func() any { return kube.NewApplyManifests() }},
		{Name: "addon", Doc: "Applies an add-on of the inventory, and removes the objects that it no longer contains.", Internal: true, New: func() any { return &addon.Apply{} }},
		{Name: "addons_removed", Doc: "Removes the add-ons that the inventory no longer has.", Internal: true, New: func() any { return &addon.Remove{} }},
		{Name: "corefile_check", Doc: "Starts one pod of cluster DNS with a changed Corefile before the others get it.", Internal: true, New: func() any { return kube.NewCorefileCheck() }},
		{Name: "kube_recreate", Doc: "Deletes pods of a Deployment that must start again, those that serve one after the other.", Internal: true, New: func() any { return &kube.Recreate{} }},
		{Name: "kube_rollout", Doc: "Waits until Deployments and DaemonSets have rolled out.", New: func() any { return kube.NewRolledOut() }},
		{Name: "kube_node", Doc: "Sets labels, taints and pod range of a Node object, and waits until it is Ready if ready is set.", New: func() any { return kube.NewNode() }},
		{Name: "kubelet_ready", Doc: "Waits until one process of the kubelet has renewed the node's Lease twice.", New: func() any { return kubelet.NewReady() }},
		{Name: "kube_cordon", Doc: "Cordons a node, marked as kube_drain does.", New: func() any { return &drain.CordonAction{} }},
		{Name: "kube_drain", Doc: "Cordons a node and evicts its pods as their PodDisruptionBudgets allow; a drain that cannot be completed is undone.", New: func() any { return drain.NewAction() }},
		{Name: "kube_uncordon", Doc: "Waits until a node is Ready, and uncordons it if deployer has cordoned it.", New: func() any { return drain.NewUncordonAction() }},
		{Name: "keeper_state", Doc: "Reads the status of the keepers of the masters, and whether they are paused.", New: func() any { return &keepers.State{} }},
		{Name: "keeper_pause", Doc: "Makes the keepers of the masters stop acting, or lets them act again.", New: func() any { return &keepers.Pause{} }},
		{Name: "node_maintenance", Doc: "Marks a node on which somebody works: while its host answers, its pods stay although its kubelet is away.", New: func() any { return &keepers.Maintenance{} }},
		{Name: "pod_network", Doc: "Looks whether the cluster has a pod network, for inventories with network.plugin: none.", Internal: true, New: func() any { return &kube.PodNetwork{} }},
		{Name: "nodes_ready", Doc: "Waits until nodes are Ready.", New: func() any { return kube.NewNodesReady() }},

		{Name: "survey_cluster", Doc: "Examines etcd and the nodes of a running cluster, for verbs whose actions depend on the result.", Internal: true, New: func() any { return &survey.Survey{} }},
		{Name: "version_changes", Doc: "Compares the versions that hosts have with the wanted ones.", Internal: true, New: func() any { return &upgrade.Changes{} }},
		{Name: "unchanged_cluster", Doc: "Fails when the inventory differs from the cluster in use in nodes, members, names of hosts or settings that a run must not change.", Internal: true, New: func() any { return &inuse.Unchanged{} }},
		{Name: "unchanged_versions", Doc: "Fails when the inventory has other versions of components than the hosts, for playbooks that are no upgrade.", Internal: true, New: func() any { return &preflight.UnchangedVersions{} }},
		{Name: "upgrade_report", Doc: "Collects the reasons why an upgrade would fail at a node, as far as the Kubernetes API knows them, and ends the run with one table when there is any.", Internal: true, New: func() any { return &upgrade.Report{} }},
		{Name: "node_work", Doc: "Decides whether pods must leave the node before an upgrade changes it.", Internal: true, New: func() any { return &upgrade.NodeWork{} }},

		{Name: "verify_cluster", Doc: "Checks that nodes are Ready and the objects of kube-system run; problems are rows of the output, not failures.", Internal: true, New: func() any { return &verify.ClusterTask{} }},
		{Name: "verify_etcd_backups", Doc: "Checks the snapshots that the members of etcd save by a timer, and their copies; problems are rows of the output.", Internal: true, New: func() any { return &etcd.Backups{} }},
		{Name: "verify_extensions", Doc: "Checks that APIServices are available and admission webhooks have a backend; problems are rows of the output.", Internal: true, New: func() any { return &verify.ExtensionsTask{} }},
		{Name: "verify_etcd", Doc: "Checks that etcd has one leader, all members serve and no alarm is set; problems are rows of the output.", Internal: true, New: func() any { return &verify.EtcdTask{} }},
		{Name: "conformance", Doc: "Runs the conformance tests of Kubernetes in the cluster, from a pod on the host, and removes all their objects; tests that fail are rows of the output.", Internal: true, New: func() any { return conformance.NewTask() }},
		{Name: "verify_pods", Doc: "Starts probe pods on some nodes and checks that they reach each other, Services and DNS names; problems are rows of the output.", Internal: true, New: func() any { return &verify.PodsTask{} }},
	}))
}
