package journal

// The verbs of runs, as records, locks and reports name them. Most are the commands of deployer that start
// them; package runs has what its runs do.
const (
	VerbApply     = "apply" // a command: its runs are of install or start
	VerbInstall   = "install"
	VerbStart     = "start"
	VerbUpgrade   = "upgrade"
	VerbRollback  = "rollback" // a command: its runs are of revert
	VerbRevert    = "revert"
	VerbScaleUp   = "scale-up"
	VerbScaleDown = "scale-down"
	VerbReset     = "reset"
	VerbPurge     = "purge"
	VerbRun       = "run"
	VerbExec      = "exec"
	VerbSurvey    = "survey"
	VerbUnknown   = "unknown" // a run without a log
	VerbDebug     = "debug"
	VerbDiagnose  = "diagnose"

	VerbCertsList           = "certs-list"
	VerbCertsRenew          = "certs-renew"
	VerbCertsRequests       = "certs-requests"
	VerbRotateCA            = "certs-rotate-ca"
	VerbRotateEncryptionKey = "certs-rotate-encryption-key"

	VerbEtcdStatus            = "etcd-status"
	VerbEtcdBackups           = "etcd-backups"
	VerbEtcdBackup            = "etcd-backup"
	VerbEtcdBackupOffline     = "etcd-backup-offline"
	VerbEtcdDefrag            = "etcd-defrag"
	VerbEtcdReplacePlan       = "etcd-replace-plan"
	VerbEtcdReplace           = "etcd-replace"
	VerbEtcdRestore           = "etcd-restore"
	VerbEtcdRestoreHosts      = "etcd-restore-hosts"
	VerbEtcdReaddressSnapshot = "etcd-readdress-snapshot"
	VerbEtcdReaddress         = "etcd-readdress"

	VerbNetworkStatus    = "network-status"
	VerbNetworkPlugin    = "network-plugin"     // of a cluster that gets Calico
	VerbNetworkPluginBGP = "network-plugin-bgp" // of one that gets bgp

	VerbKeeperStatus    = "keeper-status"
	VerbKeeperActions   = "keeper-actions"
	VerbKeeperPause     = "keeper-pause"
	VerbNodeMaintenance = "node-maintenance"
)
