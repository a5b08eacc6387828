package cluster

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The certificates of the keeper.
const (
	CertificateKeeper     = "keeper"
	CertificateKeeperEtcd = "keeper-etcd-client"
	dirKeeperPKI          = dirPKI + "/keeper"
	userKeeper            = "deployer:keeper"
)

// The unit and the configuration of the keeper.
const (
	unitKeeper = "deployer-keeper.service"
	fileKeeper = "keeper.yaml"

	unitReboot = "deployer-reboot.service"
	fileReboot = "reboot.yaml"

	fileProfiles    = "keeper-profiles.yaml"
	fileReplacement = "keeper-replacement.yaml"
)

// Keeper is the program on the masters that repairs the cluster between runs.
type Keeper struct {
	Enabled bool          `json:"enabled"` // true when the masters run it
	Health  string        `json:"health"`  // URL on masters that answers with status 200 while its passes end
	Scale   []KeeperScale `json:"scale"`   // what the keeper may scale, in the order of cluster.keeper.scale
	Reboots KeeperReboots `json:"reboots"` // unit of all nodes that acts while their hosts go down

	Backups []KeeperBackups `json:"backups"` // scheduled snapshots that masters save

	Profiles    string         `json:"profiles"`    // contents of the file with maintenance profiles; empty: none
	Replacement string         `json:"replacement"` // contents of the file with the replacement of nodes; empty: none
	Settings    map[string]any `json:"settings"`    // cluster.keeper with every default, as in an inventory

	NodeCertificates bool               `json:"node_certificates"` // true when nodes that are no masters renew their certificates
	NodeClients      []KeeperNodeClient `json:"node_clients"`      // users whose certificates these nodes renew
}

// KeeperReboots is the unit of nodes that acts while their hosts go down.
type KeeperReboots struct {
	Enabled        bool   `json:"enabled"`         // true when nodes have it
	EvictTimeout   string `json:"evict_timeout"`   // maximum time for evictions, such as 2m0s
	UnmountTimeout string `json:"unmount_timeout"` // maximum time for volumes afterwards
	StopSeconds    int    `json:"stop_seconds"`    // seconds after which systemd ends the program
}

// rebootReserve is the time that a shutdown may need in addition to its two timeouts: for systemd (5 s),
// the record's lock (16 s), and the API at the beginning and the end (10 s each), see keeper/reboot.
const rebootReserve = time.Minute

// resolve returns the settings for playbooks.
func (s KeeperRebootsSpec) resolve() KeeperReboots {
	stop := s.EvictTimeout + s.UnmountTimeout + rebootReserve
	return KeeperReboots{s.Enabled, s.EvictTimeout.String(), s.UnmountTimeout.String(), int(stop.Seconds())}
}

// KeeperScale is the place of objects that the keeper may scale and patch.
type KeeperScale struct {
	Namespace string `json:"namespace"` // their namespace
	Group     string `json:"group"`     // API group of their kind; empty for the core group
}

// KeeperBackups are the scheduled snapshots of an etcd cluster.
type KeeperBackups struct {
	Of  string `json:"of"`  // name of the etcd cluster: etcd or etcd-calico
	Dir string `json:"dir"` // directory with the snapshots

	Timer string `json:"timer"` // unit file of the timer that saves them
}

// keeperBackups returns the etcd clusters whose scheduled snapshots keepers see. Each time, one member saves
// the snapshot, so keepers see all of them only when every member is on a master.
func (r *resolver) keeperBackups() []KeeperBackups {
	out := []KeeperBackups{}
	for _, host := range r.place.etcd {
		if !slices.Contains(r.place.masters, host) {
			return out
		}
	}
	for _, etcd := range []struct {
		name    string
		cluster *Etcd
	}{{"etcd", &r.out.Etcd}, {"etcd-calico", r.out.EtcdCalico}} {
		if etcd.cluster != nil && etcd.cluster.Backup.Scheduled() {
			out = append(out, KeeperBackups{etcd.name, "/var/lib/deployer/" + etcd.name + "-snapshots", "/etc/systemd/system/deployer-" + etcd.name + "-backup.timer"})
		}
	}
	return out
}

// resolve returns the settings for playbooks. signs is true when the cluster has the key of its authority.
func (s KeeperSpec) resolve(signs bool) Keeper {
	host, port, _ := net.SplitHostPort(s.MetricsAddress) // Validate has checked it
	scale := []KeeperScale{}
	for _, policy := range s.Scale {
		group, _, named := strings.Cut(policy.APIVersion, "/")
		if !named {
			group = ""
		}
		scale = append(scale, KeeperScale{policy.Namespace, group})
	}
	onHost := s // the masters have the files at paths of their own
	onHost.Profiles, onHost.Replacement = fileOf(s.Profiles, fileProfiles), fileOf(s.Replacement, fileReplacement)
	onHost.Reboots = KeeperRebootsSpec{} // the keeper of masters has no part in it
	nodes := *s.Enabled && *s.Certificates.Nodes && signs
	onHost.Certificates.Nodes = &nodes
	return Keeper{
		Enabled: *s.Enabled, Scale: scale, Reboots: s.Reboots.resolve(), Health: "http://" + net.JoinHostPort(fromItself(host), port) + "/healthz",
		Profiles: s.Profiles, Replacement: s.Replacement, Settings: settingsOf(reflect.ValueOf(onHost)).(map[string]any),
		NodeCertificates: nodes, NodeClients: []KeeperNodeClient{},
	}
}

// fromItself returns where a host reaches what listens at an address of its own.
func fromItself(listen string) string {
	if ip := net.ParseIP(listen); ip == nil || ip.IsUnspecified() {
		return localAddress
	}
	return listen
}

// fileOf returns the path on masters of a file whose content is in the inventory; empty without content.
func fileOf(content, name string) string {
	if content == "" {
		return ""
	}
	return dirDeployer + "/" + name
}

// port returns the port of the metrics; 0 for an address that [CheckKeeper] refuses.
func (s KeeperSpec) port() int {
	_, text, _ := net.SplitHostPort(s.MetricsAddress)
	number, _ := strconv.Atoi(text)
	return number
}

// keeperCertificates returns the certificates of the keeper of a master.
func keeperCertificates(c *Cluster) []Certificate {
	if !c.Keeper.Enabled {
		return nil
	}
	return []Certificate{
		leaf(AuthorityCluster, CertificateKeeper, userKeeper, "client").in(dirKeeperPKI),
		leaf(AuthorityEtcd, CertificateKeeperEtcd, userKeeper, "client").in(dirKeeperPKI),
	}
}

// settingsOf returns a section of an inventory as its text would decode: keys as in YAML, durations as
// texts. Settings without a value are left out.
func settingsOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return settingsOf(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if field := v.Field(i); key != "" && !field.IsZero() {
				out[key] = settingsOf(field)
			}
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = settingsOf(v.Index(i))
		}
		return out
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	return v.Interface()
}

// CheckKeeper returns the settings of the keeper that cannot work, with every default set.
func CheckKeeper(s KeeperSpec) (out Problems) {
	const key = "cluster.keeper"
	add := func(subject, format string, args ...any) {
		out = append(out, Problem{Code: "bad-keeper", Subject: key + subject, Message: fmt.Sprintf(format, args...)})
	}
	// A pass asks every node of a large cluster.
	between := func(subject string, d, least, most time.Duration) {
		if d < least || d > most {
			add(subject, "%s: use a time from %s to %s", d, shortDuration(least), shortDuration(most))
		}
	}
	const day = 24 * time.Hour
	between(".interval", s.Interval, 5*time.Second, 10*time.Minute)
	// A node is Unknown 40 s after its last report; less would catch nodes that reboot.
	between(".clear.unknown_for", s.Clear.UnknownFor, time.Minute, 30*day)
	between(".clear.terminating_for", s.Clear.TerminatingFor, time.Second, 30*day)
	between(".fence.unknown_for", s.Fence.UnknownFor, 5*time.Minute, 30*day)
	between(".purge.unreachable_for", s.Purge.UnreachableFor, 5*time.Minute, 365*day)
	// systemd reboots by force after 30 min (reboot.target, JobTimeoutSec).
	between(".reboots.evict_timeout", s.Reboots.EvictTimeout, time.Second, 15*time.Minute)
	between(".reboots.unmount_timeout", s.Reboots.UnmountTimeout, time.Second, 10*time.Minute)
	between(".etcd.replace_after", s.Etcd.ReplaceAfter, time.Minute, 30*day)
	between(".etcd.backup_max_age", s.Etcd.BackupMaxAge, time.Minute, 365*day)
	if n := *s.Purge.MinReadyMasters; n < 1 {
		add(".purge.min_ready_masters", "%d: at least one master must be Ready", n)
	}
	if s.Purge.MinReadyMinions < 0 {
		add(".purge.min_ready_minions", "%d: use 0 or more", s.Purge.MinReadyMinions)
	}
	if *s.Fence.MaxPerHour < 1 {
		add(".fence.max_per_hour", "%d: use at least 1, or remove the hooks", *s.Fence.MaxPerHour)
	}
	checkHooks := func(section string, hooks []KeeperHookSpec) {
		for _, hook := range hooks {
			if reason := checkKeeperHook(hook); reason != "" {
				add(section, "hook %q: %s", hook.Name, reason)
			}
		}
	}
	checkHooks(".purge", slices.Concat(s.Purge.PreRemove, s.Purge.PostRemove))
	checkHooks(".post_add", s.PostAdd)
	checkHooks(".fence", s.Fence.Hooks)
	for i, stuck := range s.StuckContainers {
		between(fmt.Sprintf(".stuck_containers[%d].for", i), stuck.For, 10*time.Second, 30*day)
		if strings.TrimSpace(stuck.Selector) == "" {
			add(fmt.Sprintf(".stuck_containers[%d].selector", i), "an empty selector selects all pods of the namespace: name labels")
		}
	}
	for i, policy := range s.Scale {
		at := fmt.Sprintf(".scale[%d]", i)
		switch {
		case strings.TrimSpace(policy.Selector) == "":
			add(at+".selector", "an empty selector selects all objects of the namespace: name labels")
		case policy.Max == 0 && len(policy.Patch) == 0:
			add(at, "the policy has no effect: set max or patch")
		case policy.Max != 0 && policy.Max < policy.Min:
			add(at+".max", "%d is less than min %d", policy.Max, policy.Min)
		}
	}
	host, portText, err := net.SplitHostPort(s.MetricsAddress)
	number, notNumber := strconv.Atoi(portText)
	if err != nil || notNumber != nil || number < 1 || number > 65535 || host != "" && net.ParseIP(host) == nil {
		add(".metrics_address", "%q is not an address with a port, such as 127.0.0.1:10275", s.MetricsAddress)
	}
	return out
}

func checkKeeperHook(h KeeperHookSpec) string {
	address, err := url.Parse(h.URL)
	switch {
	case (len(h.Command) == 0) == (h.URL == ""):
		return "want command or url"
	case h.URL != "" && (err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https"):
		return fmt.Sprintf("%q is no http or https URL", h.URL)
	case h.Timeout < 0:
		return fmt.Sprintf("timeout %s: want a duration such as 5m", h.Timeout)
	}
	return ""
}
