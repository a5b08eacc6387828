package keyring

// Share selects the files that a host needs for its roles.
type Share struct {
	Master bool // the host runs an API server: it needs all files
	Etcd   bool // the host runs an etcd member: it trusts the etcd authority
	API    bool // the host connects to the API: it trusts the cluster's authority
	Calico bool // the host runs a member or a client of the etcd cluster of Calico
}

// File is one file that a host must have.
type File struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`
	Content string `json:"content"`
	Secret  bool   `json:"secret"`
}

// Share returns the files for a host, in the order in which the host must write them. A
// host gets only the files that its roles need: masters all files, members of etcd the
// certificate of the etcd authority, nodes and proxies that end TLS the certificate of the
// cluster authority, members and clients of the etcd cluster of Calico that of its authority, and
// other proxies nothing.
func (k *Keys) Share(s Share) []File {
	var out []File
	files := k.written()
	for _, path := range writtenPaths() {
		needed := s.Master ||
			s.Etcd && path == EtcdCert ||
			s.API && path == ClusterCert ||
			s.Calico && path == EtcdCalicoCert
		if !needed || files[path] == nil {
			continue
		}
		out = append(out, File{Path: path, Mode: Mode(path), Content: string(files[path]), Secret: !public(path)})
	}
	return out
}
