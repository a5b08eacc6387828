// Package reboot takes a node out of service while its host goes down, and back when the host is up.
// Unit deployer-reboot.service of each node calls it: [Host.Shutdown] when systemd stops the unit,
// [Host.Start] when systemd starts it.
//
// At a shutdown the host cordons its Node, evicts the pods with volumes of PersistentVolumeClaims, and
// waits until they have ended and their volumes are unmounted, all within bounds. It does so only while
// the machine goes down: a restart of the unit evicts nothing. A record on the host and an annotation of
// the Node say that this host has cordoned it, and only then the host uncordons it at the next start.
//
// The host acts with the kubelet's certificate, which may change its own Node and evict its own pods
// only (Node authorizer and admission plugin NodeRestriction of Kubernetes).
package reboot
