// Package dns tests cluster DNS, the DNS caches of nodes and the mode of kube-proxy on real hosts while pods resolve names. Its tests need the tag lab and root.
package dns
