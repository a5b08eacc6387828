// Package dns tests cluster DNS on real hosts while pods resolve names. Its tests need the tag lab and root.
package dns
