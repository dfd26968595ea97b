DROP TABLE IF EXISTS authsvc_permit;
DROP TABLE IF EXISTS authsvc_lease;
