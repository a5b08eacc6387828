package keyring

// Share says which of the files a host needs for its roles.
type Share struct {
	Master bool // runs an API server: holds everything
	Etcd   bool // runs an etcd member: trusts the etcd authority
	Node   bool // runs a kubelet: trusts the cluster's authority
}

// File is one file that a host is to have.
type File struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`
	Content string `json:"content"`
	Secret  bool   `json:"secret"`
}

// Share returns the files for a host, in the order in which it must write them.
// A host never gets more than its roles need: masters everything, members of
// etcd the etcd authority's certificate, nodes the cluster's certificate, and
// hosts that only pass connections on (proxies) nothing.
func (k *Keys) Share(s Share) []File {
	var out []File
	for _, path := range Paths() {
		needed := s.Master ||
			s.Etcd && path == EtcdCert ||
			s.Node && path == ClusterCert
		if !needed || k.files[path] == nil {
			continue
		}
		out = append(out, File{Path: path, Mode: Mode(path), Content: string(k.files[path]), Secret: !public(path)})
	}
	return out
}
