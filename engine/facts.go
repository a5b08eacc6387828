package engine

// Facts are the properties of its host that the agent reports when it starts. Playbooks see
// them as `facts`, under the JSON names.
type Facts struct {
	Hostname     string   `json:"hostname"`      // the kernel's name of the host
	OS           string   `json:"os"`            // ID of os-release: debian, ubuntu, rocky
	OSVersion    string   `json:"os_version"`    // VERSION_ID of os-release: 12, 24.04; may be empty
	OSLike       []string `json:"os_like"`       // ID_LIKE of os-release: what it resembles
	OSFamily     string   `json:"os_family"`     // debian, redhat or suse: how packages are named; empty: none of them
	OSName       string   `json:"os_name"`       // PRETTY_NAME of os-release: Debian GNU/Linux 12 (bookworm)
	OSCodename   string   `json:"os_codename"`   // VERSION_CODENAME of os-release: bookworm, noble; may be empty
	Arch         string   `json:"arch"`          // of the processor: amd64 or arm64
	Kernel       string   `json:"kernel"`        // release, as uname -r says
	CPUs         int      `json:"cpus"`          // processors that the host sees
	MemoryBytes  int64    `json:"memory_bytes"`  // all there is
	SwapBytes    int64    `json:"swap_bytes"`    // all there is, used or not
	Addresses    []string `json:"addresses"`     // global unicast addresses, no loopback
	DefaultIface string   `json:"default_iface"` // interface of the default route
	DefaultIP    string   `json:"default_ip"`    // address of that interface
	MachineID    string   `json:"machine_id"`    // of /etc/machine-id
	BootID       string   `json:"boot_id"`       // another one after each boot
	Init         string   `json:"init"`          // what runs as process 1: systemd, or another name
	CgroupV2     bool     `json:"cgroup_v2"`     // the host has cgroup v2 and not v1
	// PackageManager is apt, dnf or zypper; empty when there is none of them.
	PackageManager string `json:"package_manager"`
	// Virtualization is the container or hypervisor of the host, in the words of
	// systemd-detect-virt: kvm, vmware, microsoft, xen, amazon, docker, podman,
	// lxc; empty for a machine of its own.
	Virtualization string `json:"virtualization"`
	// SELinux is enforcing, permissive or disabled.
	SELinux string `json:"selinux"`
	// RebootRequired is true when a package of Debian or Ubuntu has asked for a
	// reboot before the agent started.
	RebootRequired bool    `json:"reboot_required"`
	UnixTime       float64 `json:"unix_time"` // the host's clock when it answered, seconds
}
