package componentconfig

// The settings of containerd 2.2, for the names and types of their keys. Sources:
// cmd/containerd/server/config/config.go, internal/cri/config/config.go and
// api/types/runc/options/oci.proto of github.com/containerd/containerd.

type containerdRoot struct {
	Version         int            `json:"version"`
	Root            string         `json:"root"`
	State           string         `json:"state"`
	Temp            string         `json:"temp"`
	GRPC            containerdGRPC `json:"grpc"`
	TTRPC           listener       `json:"ttrpc"`
	Debug           containerdLog  `json:"debug"`
	Metrics         containerdStat `json:"metrics"`
	DisabledPlugins []string       `json:"disabled_plugins"`
	RequiredPlugins []string       `json:"required_plugins"`
	Plugins         map[string]any `json:"plugins"`
	OOMScore        int            `json:"oom_score"`
	Cgroup          struct {
		Path string `json:"path"`
	} `json:"cgroup"`
	ProxyPlugins     map[string]proxyPlugin     `json:"proxy_plugins"`
	Timeouts         map[string]string          `json:"timeouts"`
	Imports          []string                   `json:"imports"`
	StreamProcessors map[string]streamProcessor `json:"stream_processors"`
}

type listener struct {
	Address string `json:"address"`
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
}

type containerdGRPC struct {
	Address    string `json:"address"`
	TCPAddress string `json:"tcp_address"`
	TCPCA      string `json:"tcp_tls_ca"`
	TCPCert    string `json:"tcp_tls_cert"`
	TCPKey     string `json:"tcp_tls_key"`
	TCPName    string `json:"tcp_tls_common_name"`
	UID        int    `json:"uid"`
	GID        int    `json:"gid"`
	MaxReceive int    `json:"max_recv_message_size"`
	MaxSend    int    `json:"max_send_message_size"`
}

type containerdLog struct {
	Address string `json:"address"`
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
	Level   string `json:"level"`
	Format  string `json:"format"`
}

type containerdStat struct {
	Address   string `json:"address"`
	Histogram bool   `json:"grpc_histogram"`
}

type proxyPlugin struct {
	Type         string            `json:"type"`
	Address      string            `json:"address"`
	Platform     string            `json:"platform"`
	Exports      map[string]string `json:"exports"`
	Capabilities []string          `json:"capabilities"`
}

type streamProcessor struct {
	Accepts []string `json:"accepts"`
	Returns string   `json:"returns"`
	Path    string   `json:"path"`
	Args    []string `json:"args"`
	Env     []string `json:"env"`
}

type criImages struct {
	Snapshotter                string                   `json:"snapshotter"`
	DisableSnapshotAnnotations bool                     `json:"disable_snapshot_annotations"`
	DiscardUnpackedLayers      bool                     `json:"discard_unpacked_layers"`
	PinnedImages               map[string]string        `json:"pinned_images"`
	RuntimePlatforms           map[string]imagePlatform `json:"runtime_platforms"`
	Registry                   criRegistry              `json:"registry"`
	ImageDecryption            struct {
		KeyModel string `json:"key_model"`
	} `json:"image_decryption"`
	MaxConcurrentDownloads     int    `json:"max_concurrent_downloads"`
	ConcurrentLayerFetchBuffer int    `json:"concurrent_layer_fetch_buffer"`
	ImagePullProgressTimeout   string `json:"image_pull_progress_timeout"`
	ImagePullWithSyncFS        bool   `json:"image_pull_with_sync_fs"`
	StatsCollectPeriod         int    `json:"stats_collect_period"`
	UseLocalImagePull          bool   `json:"use_local_image_pull"`
}

type imagePlatform struct {
	Platform    string `json:"platform"`
	Snapshotter string `json:"snapshotter"`
}

type criRegistry struct {
	ConfigPath string                    `json:"config_path"`
	Mirrors    map[string]registryMirror `json:"mirrors"`
	Configs    map[string]registryConfig `json:"configs"`
	Auths      map[string]registryLogin  `json:"auths"`
	Headers    map[string][]string       `json:"headers"`
}

type registryMirror struct {
	Endpoint []string `json:"endpoint"`
}

type registryConfig struct {
	Auth registryLogin `json:"auth"`
}

type registryLogin struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
}

type criRuntime struct {
	Containerd                         criContainerd `json:"containerd"`
	CNI                                criCNI        `json:"cni"`
	EnableSelinux                      bool          `json:"enable_selinux"`
	SelinuxCategoryRange               int           `json:"selinux_category_range"`
	MaxContainerLogLineSize            int           `json:"max_container_log_line_size"`
	DisableApparmor                    bool          `json:"disable_apparmor"`
	RestrictOOMScoreAdj                bool          `json:"restrict_oom_score_adj"`
	DisableProcMount                   bool          `json:"disable_proc_mount"`
	UnsetSeccompProfile                string        `json:"unset_seccomp_profile"`
	TolerateMissingHugetlbController   bool          `json:"tolerate_missing_hugetlb_controller"`
	DisableHugetlbController           bool          `json:"disable_hugetlb_controller"`
	DeviceOwnershipFromSecurityContext bool          `json:"device_ownership_from_security_context"`
	IgnoreImageDefinedVolumes          bool          `json:"ignore_image_defined_volumes"`
	NetnsMountsUnderStateDir           bool          `json:"netns_mounts_under_state_dir"`
	EnableUnprivilegedPorts            bool          `json:"enable_unprivileged_ports"`
	EnableUnprivilegedICMP             bool          `json:"enable_unprivileged_icmp"`
	EnableCDI                          bool          `json:"enable_cdi"`
	CDISpecDirs                        []string      `json:"cdi_spec_dirs"`
	DrainExecSyncIOTimeout             string        `json:"drain_exec_sync_io_timeout"`
	IgnoreDeprecationWarnings          []string      `json:"ignore_deprecation_warnings"`
}

type criContainerd struct {
	DefaultRuntimeName            string                `json:"default_runtime_name"`
	Runtimes                      map[string]ociRuntime `json:"runtimes"`
	IgnoreBlockIONotEnabledErrors bool                  `json:"ignore_blockio_not_enabled_errors"`
	IgnoreRdtNotEnabledErrors     bool                  `json:"ignore_rdt_not_enabled_errors"`
}

type ociRuntime struct {
	Type                                          string         `json:"runtime_type"`
	Path                                          string         `json:"runtime_path"`
	PodAnnotations                                []string       `json:"pod_annotations"`
	ContainerAnnotations                          []string       `json:"container_annotations"`
	Options                                       map[string]any `json:"options"`
	PrivilegedWithoutHostDevices                  bool           `json:"privileged_without_host_devices"`
	PrivilegedWithoutHostDevicesAllDevicesAllowed bool           `json:"privileged_without_host_devices_all_devices_allowed"`
	CgroupWritable                                bool           `json:"cgroup_writable"`
	BaseRuntimeSpec                               string         `json:"base_runtime_spec"`
	CNIConfDir                                    string         `json:"cni_conf_dir"`
	CNIMaxConfNum                                 int            `json:"cni_max_conf_num"`
	Snapshotter                                   string         `json:"snapshotter"`
	Sandboxer                                     string         `json:"sandboxer"`
	IOType                                        string         `json:"io_type"`
}

type criCNI struct {
	BinDir              string   `json:"bin_dir"`
	BinDirs             []string `json:"bin_dirs"`
	ConfDir             string   `json:"conf_dir"`
	MaxConfNum          int      `json:"max_conf_num"`
	SetupSerially       bool     `json:"setup_serially"`
	ConfTemplate        string   `json:"conf_template"`
	IPPref              string   `json:"ip_pref"`
	UseInternalLoopback bool     `json:"use_internal_loopback"`
}

type runcOptions struct {
	NoPivotRoot    bool   `json:"NoPivotRoot"`
	NoNewKeyring   bool   `json:"NoNewKeyring"`
	ShimCgroup     string `json:"ShimCgroup"`
	IoUID          uint32 `json:"IoUid"`
	IoGID          uint32 `json:"IoGid"`
	BinaryName     string `json:"BinaryName"`
	Root           string `json:"Root"`
	SystemdCgroup  bool   `json:"SystemdCgroup"`
	CriuImagePath  string `json:"CriuImagePath"`
	CriuWorkPath   string `json:"CriuWorkPath"`
	TaskAPIAddress string `json:"TaskApiAddress"`
	TaskAPIVersion uint32 `json:"TaskApiVersion"`
}
