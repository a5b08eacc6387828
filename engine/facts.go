package engine

// Facts are the properties of its host that the agent reports when it starts. Playbooks see
// them as `facts`, under the JSON names.
type Facts struct {
	Hostname     string   `json:"hostname"`      // the kernel's name of the host
	OS           string   `json:"os"`            // ID of os-release: debian, ubuntu, rocky
	OSVersion    string   `json:"os_version"`    // VERSION_ID of os-release: 12, 24.04; may be empty
	OSLike       []string `json:"os_like"`       // ID_LIKE of os-release: distributions that this one is based on
	OSFamily     string   `json:"os_family"`     // debian, redhat or suse, by which packages are named; empty for another family
	OSName       string   `json:"os_name"`       // PRETTY_NAME of os-release: Debian GNU/Linux 12 (bookworm)
	OSCodename   string   `json:"os_codename"`   // VERSION_CODENAME of os-release: bookworm, noble; may be empty
	Arch         string   `json:"arch"`          // of the processor: amd64 or arm64
	Kernel       string   `json:"kernel"`        // release of the kernel, as uname -r prints it
	CPUs         int      `json:"cpus"`          // number of processors
	MemoryBytes  int64    `json:"memory_bytes"`  // total memory, in bytes
	SwapBytes    int64    `json:"swap_bytes"`    // total swap space, in bytes
	Addresses    []string `json:"addresses"`     // global unicast addresses, no loopback
	DefaultIface string   `json:"default_iface"` // interface of the default route
	DefaultIP    string   `json:"default_ip"`    // address of that interface
	MachineID    string   `json:"machine_id"`    // of /etc/machine-id
	BootID       string   `json:"boot_id"`       // changes with each boot
	Init         string   `json:"init"`          // name of process 1, such as systemd
	CgroupV2     bool     `json:"cgroup_v2"`     // the host has cgroup v2 and not v1
	// PackageManager is apt, dnf or zypper; empty for another one or none.
	PackageManager string `json:"package_manager"`
	// Virtualization is the container or hypervisor of the host, in the words of
	// systemd-detect-virt: kvm, vmware, microsoft, xen, amazon, docker, podman,
	// lxc; empty for a physical machine.
	Virtualization string `json:"virtualization"`
	// SELinux is enforcing, permissive or disabled.
	SELinux string `json:"selinux"`
	// RebootRequired is true when a package of Debian or Ubuntu has asked for a
	// reboot before the agent started.
	RebootRequired bool    `json:"reboot_required"`
	UnixTime       float64 `json:"unix_time"` // the host's clock when the facts were read, in seconds since 1970-01-01 UTC
}
