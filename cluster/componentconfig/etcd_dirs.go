package componentconfig

import (
	"path"
	"strings"
)

// etcdDirs reports a directory of etcd's write-ahead log that is no directory beside that of
// its data. The unit gives both directories to etcd's user as root, and etcd could put a
// link to any other directory in the place of one that is inside the other.
func (k *checker) etcdDirs() {
	for _, host := range k.cluster.Order {
		n := k.cluster.Nodes[host]
		if !n.IsEtcd {
			continue
		}
		data := path.Clean(n.Etcd.Dirs[0])
		for _, arg := range n.Args.Etcd {
			log, ok := strings.CutPrefix(arg, "--wal-dir=")
			if !ok || log == "" {
				continue
			}
			k.host, k.at = host, []string{"overrides", "etcd", "extra_args", "wal-dir"}
			switch clean := path.Clean(log); {
			case !path.IsAbs(log) || clean == "/":
				k.add(nil, "%q is not the absolute path of a directory of its own", log)
			case strings.HasPrefix(clean, data+"/"):
				k.add(nil, "%s is inside the directory of etcd's data, %s: name a directory elsewhere, or omit the flag", clean, data)
			case strings.HasPrefix(data, clean+"/"):
				k.add(nil, "%s contains the directory of etcd's data, %s: name a directory elsewhere", clean, data)
			}
		}
	}
}
