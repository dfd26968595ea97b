DROP TABLE authsvc_permit;
DROP TABLE authsvc_lease;
