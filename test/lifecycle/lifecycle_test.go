//go:build lab

package lifecycle

import (
	"flag"
	"os"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/prober"
)

var (
	resultsDir = flag.String("results", "", "directory for lifecycle.json, what clients noticed in each scenario; default: a new directory below the one for temporary files")
	seed       = flag.Uint64("seed", 0, "seed of random instants; default: another one each time, printed")
	kills      = flag.Int("kills", 20, "number of random instants at which the scenario upgrade_killed kills an upgrade")
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	flag.Parse()
	harness.SweepLabs()
	os.Exit(m.Run())
}

// scenarios are the scenarios in the order in which they run, on one cluster. Each
// leaves the cluster as its inventory says and can be run alone: -run
// 'TestLifecycle/NAME'.
var scenarios = []scenario{
	{name: "hosts_join", begin: smallCluster, run: hostsJoin, tolerate: prober.Tolerance{NotReady: []string{"m2", "m3", "n3"}}},
	{name: "apiserver_flag", run: apiserverFlag},
	{name: "kubelet_value", run: kubeletValue},
	{name: "bad_kubelet_value", run: badKubeletValue},
	{name: "bad_apiserver_value", run: badAPIServerValue, tolerate: prober.Tolerance{NotReady: []string{"m1"}}},
	{name: "containerd_value", run: containerdValue},
	{name: "bad_image", run: badImage},
	{name: "killed_change", run: killedChange},
	{name: "two_deployers", run: twoDeployers},
	{name: "runbooks", run: runbooks},
	{name: "bgp_sessions_change", run: bgpSessionsChange},
	{name: "minions_become_masters", run: minionsBecomeMasters, tolerate: prober.Tolerance{Rebooted: []string{"n1", "n2"}}},
	{name: "minion_leaves", run: minionLeaves, tolerate: prober.Tolerance{Rebooted: []string{"n3"}}},
	{name: "join_beside_dead_host", run: joinBesideDeadHost, tolerate: prober.Tolerance{Rebooted: []string{"n2", "n3"}, PodGap: time.Minute}},
	{name: "first_master_leaves", run: firstMasterLeaves, tolerate: prober.Tolerance{NotReady: []string{"m1"}}},
	{name: "haproxy_reload", run: haproxyReload, tolerate: prober.Tolerance{NotReady: []string{"m3"}}},
	{name: "nginx_reload", begin: nginxCluster, run: nginxReload, end: haproxyCluster, tolerate: prober.Tolerance{NotReady: []string{"m3"}}},
	{name: "dead_master", run: deadMaster, tolerate: prober.Tolerance{NotReady: []string{"m2"}, PodGap: time.Minute}},
	{name: "killed_removal", run: killedRemoval, tolerate: prober.Tolerance{NotReady: []string{"m3"}}},
	{name: "upgrade_apiserver", begin: olderCluster, run: apiserverOnly},
	{name: "upgrade", begin: olderCluster, run: upgradeAll},
	{name: "rollback_aborted", begin: newerCluster, run: rollbackAborted},
	{name: "upgrade_killed", begin: olderCluster, run: upgradeKilled},
	{name: "upgrade_blocked", begin: olderCluster, run: blockedNode},
	{name: "upgrade_taken_back", begin: olderCluster, run: upgradeTakenBack},
	{name: "images_collected", begin: newerCluster, run: imagesCollected},
	{name: "cpu_manager_policy", run: cpuManagerPolicy},
	{name: "memory_manager_policy", run: memoryManagerPolicy},
	{name: "member_removed", run: memberRemoved},
	{name: "member_data_lost", run: memberDataLost},
	{name: "member_stuck", run: memberStuck},
	{name: "member_damaged", run: memberDamaged},
	{name: "address_changed", run: addressChanged, tolerate: prober.Tolerance{NotReady: masters, PodGap: time.Minute}},
	{name: "all_addresses_changed", run: allAddressesChanged, outage: true},
	{name: "etcd_restored", run: etcdRestored, outage: true},
	{name: "full_disks", run: fullDisks},
	{name: "object_store", run: backupsInObjectStore, outage: true},
	{name: "quorum_lost", run: quorumLost, outage: true},
	{name: "database_full", run: databaseFull, outage: true},
	{name: "restored_elsewhere", run: restoredElsewhere, outage: true},
	{name: "encryption_key_rotated", run: encryptionKeyRotated},
	{name: "certificates_renewed", run: certificatesRenewed},
	{name: "certificates_timer", run: certificatesTimer},
	{name: "certificates_expired", run: certificatesExpired, outage: true},
	{name: "authorities_rotated", run: authoritiesRotated, tolerate: prober.Tolerance{Rebooted: []string{"n3"}, PodGap: time.Minute}},
	{name: "external_authorities", run: externalAuthorities},
	{name: "drain_and_reboot", run: drainAndReboot, tolerate: prober.Tolerance{Rebooted: []string{"n1"}}},
	{name: "all_hosts_off", run: allHostsOff, outage: true},
}

// TestLifecycle runs the scenarios on a lab with three masters, three minions and a spare
// host.
func TestLifecycle(t *testing.T) {
	s := newSuite(t, harness.New(t, "lifecycle", plan.Spec{Masters: 3, Minions: 3, Hosts: 1}))
	defer s.close()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) { s.scenario(t, sc) })
	}
}
