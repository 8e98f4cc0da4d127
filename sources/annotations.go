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
	found    []annotation // under any of the prefixes, or our own
	prefixes []string
}

// An annotation is one whose prefix means something here.
type annotation struct {
	prefix, key, value string
}

// annotationsOf picks out of an object's annotations those that concern us. Most
// have none or few, so that looking through them is quick.
func (tr *Translator) annotationsOf(values map[string]string) annotationSet {
	a := annotationSet{prefixes: tr.prefixes}
	for full, value := range values {
		for _, prefix := range tr.prefixes {
			if key, ok := strings.CutPrefix(full, prefix); ok {
				a.found = append(a.found, annotation{prefix, key, value})
			}
		}
		if key, ok := strings.CutPrefix(full, prefixOwn); ok && !slices.Contains(tr.prefixes, prefixOwn) {
			a.found = append(a.found, annotation{prefixOwn, key, value})
		}
	}
	return a
}

// under returns the value of a key under one prefix.
func (a annotationSet) under(prefix, key string) (string, bool) {
	for i := range a.found {
		if one := &a.found[i]; one.key == key && one.prefix == prefix {
			return one.value, true
		}
	}
	return "", false
}

// get returns the value of a key without prefix.
func (a annotationSet) get(key string) (string, bool) {
	if len(a.found) == 0 {
		return "", false
	}
	for _, prefix := range a.prefixes {
		if value, ok := a.under(prefix, key); ok {
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

// keys returns the keys without prefix that stand under any of the prefixes, sorted.
func (a annotationSet) keys() []string {
	var keys []string
	for i := range a.found {
		if slices.Contains(a.prefixes, a.found[i].prefix) {
			keys = append(keys, a.found[i].key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// optOut says by which annotation the object opts out, or "". Any prefix will
// do: an opt-out written for an older release must not be lost.
func (a annotationSet) optOut() string {
	if len(a.found) == 0 {
		return ""
	}
	for _, prefix := range a.prefixes {
		if value, ok := a.under(prefix, keyController); ok && value != controllerValue {
			return fmt.Sprintf("the annotation %s is %s, which leaves the object to another controller; only %q is ours",
				prefix+keyController, quote(value), controllerValue)
		}
	}
	for _, prefix := range append([]string{prefixOwn}, a.prefixes...) {
		if value, _ := a.under(prefix, keyExclude); value == "true" {
			return fmt.Sprintf("the annotation %s is \"true\"", prefix+keyExclude)
		}
	}
	return ""
}

// noteOddKeys notes keys that stand under two prefixes with different values,
// and keys that look like a slip of the fingers.
func (d *draft) noteOddKeys() {
	keys := d.annotations.keys()
	if len(keys) == 0 {
		return
	}
	known := knownKeys()
	for _, key := range keys {
		first, firstValue := "", ""
		for _, prefix := range d.annotations.prefixes {
			value, ok := d.annotations.under(prefix, key)
			switch {
			case !ok:
			case first == "":
				first, firstValue = prefix, value
			case value != firstValue:
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
			if _, ok := d.annotations.under(prefix, key); ok {
				d.note(zones.ReasonIgnoredProperty, fmt.Sprintf("the annotation %s has no effect on a %s", clip(prefix+key), kind))
			}
		}
	}
}
