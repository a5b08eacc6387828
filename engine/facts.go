package engine

// Facts are what the agent reports of its host when it starts. Playbooks see
// them as `facts`, under the JSON names.
type Facts struct {
	Hostname     string   `json:"hostname"`
	OS           string   `json:"os"`         // ID of os-release: debian, ubuntu, rocky
	OSVersion    string   `json:"os_version"` // VERSION_ID
	OSLike       []string `json:"os_like"`    // ID_LIKE
	Arch         string   `json:"arch"`       // amd64, arm64
	Kernel       string   `json:"kernel"`     // uname -r
	CPUs         int      `json:"cpus"`
	MemoryBytes  int64    `json:"memory_bytes"`
	SwapBytes    int64    `json:"swap_bytes"`
	Addresses    []string `json:"addresses"` // global unicast addresses, no loopback
	DefaultIface string   `json:"default_iface"`
	DefaultIP    string   `json:"default_ip"`
	MachineID    string   `json:"machine_id"`
	BootID       string   `json:"boot_id"`
	Init         string   `json:"init"`      // systemd, or the name of pid 1
	CgroupV2     bool     `json:"cgroup_v2"` // cgroup v2 only
	UnixTime     float64  `json:"unix_time"` // the host's clock when it answered, seconds
}
