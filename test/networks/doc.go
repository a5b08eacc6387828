// Package networks tests pod networks on real hosts: those that a user brings. Its tests need the
// tag lab and root.
package networks
