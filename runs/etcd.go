package runs

import "deployer/engine/journal"

// EtcdStatus returns a run that reads the state of etcd's members and changes nothing.
func (c Runner) EtcdStatus(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdStatus
	return c.withoutArtifacts(o)
}

// EtcdBackups returns a run that compares the MACs of snapshots of an object store with the key of
// the cluster, and changes nothing. The variables in Extra are those of the playbook.
func (c Runner) EtcdBackups(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdBackups
	return c.withoutArtifacts(o)
}

// EtcdBackup returns a run that saves a snapshot of etcd. EtcdBackup takes no run lock: a snapshot
// disturbs no other run.
func (c Runner) EtcdBackup(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdBackup
	r, err := c.withoutArtifacts(o)
	if err != nil {
		return nil, err
	}
	r.logged = true
	return r, nil
}

// EtcdBackupOffline returns a run that saves snapshots of the data of members that have no
// majority. EtcdBackupOffline stops these members for the time of a copy. EtcdBackupOffline locks the hosts that it reaches:
// where etcd has no majority, the masters that guard the lock of the cluster have none.
func (c Runner) EtcdBackupOffline(o Options) (*Run, error) {
	o.Verb, o.LockHosts = journal.VerbEtcdBackupOffline, true
	return c.changingWithoutArtifacts(o)
}

// EtcdDefrag returns a run that defragments the members of etcd.
func (c Runner) EtcdDefrag(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdDefrag
	return c.changingWithoutArtifacts(o)
}

// EtcdRestore returns a run that replaces the data of all members of etcd by a snapshot.
func (c Runner) EtcdRestore(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdRestore
	return c.changingWithoutArtifacts(o)
}

// EtcdRestoreHosts returns a run that makes a cluster with the keys and the data of a backup,
// on hosts that have no part of a cluster yet. The variables in Extra are those of the playbook.
func (c Runner) EtcdRestoreHosts(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdRestoreHosts
	return c.changing(o)
}

// EtcdReaddressSnapshot returns a run that saves snapshots of the members of etcd, which are
// down because their hosts have other addresses.
func (c Runner) EtcdReaddressSnapshot(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdReaddressSnapshot
	return c.changingWithoutArtifacts(o)
}

// EtcdReaddress returns a run that makes the members of etcd a cluster under other
// addresses, with the data of a snapshot. The variables in Extra are those of the playbook.
func (c Runner) EtcdReaddress(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdReaddress
	return c.changing(o)
}

// EtcdReplacePlan returns a run that decides whether the member of a host may be replaced,
// and changes nothing. The variables in Extra are those of the playbook.
func (c Runner) EtcdReplacePlan(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdReplacePlan
	return c.withoutArtifacts(o)
}

// EtcdReplace returns a run that puts a new member of etcd in the place of the member of a
// host. The variables in Extra are those of the playbook.
func (c Runner) EtcdReplace(o Options) (*Run, error) {
	o.Verb = journal.VerbEtcdReplace
	return c.changingWithoutArtifacts(o)
}
