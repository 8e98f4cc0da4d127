package sources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// The annotation prefixes of external-dns: the one of v0.22 and later, and the
// one before. Ours stand under prefixOwn.
const (
	prefixCurrent = "external-dns.kubernetes.io/"
	prefixAlpha   = "external-dns.alpha.kubernetes.io/"
	prefixOwn     = "clusterzone.io/"
)

// classAnnotation named an Ingress' class before spec.ingressClassName did.
const classAnnotation = "kubernetes.io/ingress.class"

// controllerValue is the value of the controller annotation that means us.
const controllerValue = "dns-controller"

// The keys after the prefix.
const (
	keyHostname         = "hostname"
	keyInternalHostname = "internal-hostname"
	keyTarget           = "target"
	keyTTL              = "ttl"
	keyController       = "controller"
	keyExclude          = "exclude"
	keyAccess           = "access"
	keyEndpointsType    = "endpoints-type"
	keyHostnameSource   = "ingress-hostname-source"
	keyAlias            = "alias"
	keyRecordType       = "record-type"
	keySetIdentifier    = "set-identifier"
)

// knownKeys are all keys that a slip of the fingers may have meant. Those of
// other kinds stand among them, so that they are not taken for a slip.
func knownKeys() []string {
	return []string{
		keyHostname, keyInternalHostname, keyTarget, keyTTL, keyController, keyExclude, keyAccess, keyEndpointsType,
		keyHostnameSource, keyGatewayHostnameSource, keyAlias, keyRecordType, keySetIdentifier, "ingress",
	}
}

// annotationSet reads annotations under several prefixes, key by key: the
// first prefix under which a key stands gives its value, be it empty.
type annotationSet struct {
	values   map[string]string
	prefixes []string
}

// get returns the value of a key without prefix.
func (a annotationSet) get(key string) (string, bool) {
	for _, prefix := range a.prefixes {
		if value, ok := a.values[prefix+key]; ok {
			return value, true
		}
	}
	return "", false
}

// value is get for keys whose absence means the same as an empty value.
func (a annotationSet) value(key string) string {
	value, _ := a.get(key)
	return value
}

// keys returns the keys without prefix that stand under any prefix, sorted.
func (a annotationSet) keys() []string {
	var keys []string
	for full := range a.values {
		for _, prefix := range a.prefixes {
			if key, ok := strings.CutPrefix(full, prefix); ok {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// optOut says by which annotation the object opts out, or "". Any prefix will
// do: an opt-out written for an older release must not be lost.
func (a annotationSet) optOut() string {
	for _, prefix := range a.prefixes {
		if value, ok := a.values[prefix+keyController]; ok && value != controllerValue {
			return fmt.Sprintf("the annotation %s is %s, which leaves the object to another controller; only %q is ours",
				prefix+keyController, quote(value), controllerValue)
		}
	}
	for _, prefix := range append([]string{prefixOwn}, a.prefixes...) {
		if a.values[prefix+keyExclude] == "true" {
			return fmt.Sprintf("the annotation %s is \"true\"", prefix+keyExclude)
		}
	}
	return ""
}

// noteOddKeys notes keys that stand under two prefixes with different values,
// and keys that look like a slip of the fingers.
func (d *draft) noteOddKeys() {
	known := knownKeys()
	for _, key := range d.annotations.keys() {
		first := ""
		for _, prefix := range d.annotations.prefixes {
			value, ok := d.annotations.values[prefix+key]
			switch {
			case !ok:
			case first == "":
				first = prefix
			case value != d.annotations.values[first+key]:
				d.note(zones.ReasonIgnoredProperty, fmt.Sprintf("the annotation %s differs from %s, which wins; remove one of the two",
					clip(prefix+key), clip(first+key)))
			}
		}
		if slices.Contains(known, key) || isOptionKey(key) {
			continue
		}
		if near := nearest(key, known); near != "" && editDistance(key, near) <= 2 {
			d.note(zones.ReasonIgnoredProperty, fmt.Sprintf("the annotation %s has no meaning; did you mean %s?", clip(first+key), first+near))
		}
	}
}

// noteUnread notes keys that stand on the object and mean nothing on its kind.
// A value under any prefix counts.
func (d *draft) noteUnread(kind string, keys ...string) {
	for _, key := range keys {
		for _, prefix := range d.annotations.prefixes {
			if _, ok := d.annotations.values[prefix+key]; ok {
				d.note(zones.ReasonIgnoredProperty, fmt.Sprintf("the annotation %s has no effect on a %s", clip(prefix+key), kind))
			}
		}
	}
}
